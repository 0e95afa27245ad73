// The contents of the view of charts, and how they change.

import { batch } from "@preact/signals";
import type { Fact } from "../../state/story";
import { MOST_PINS, pinsOf, type Charting } from "./charts_state";

export function isPinned(charting: Charting, pin: string): boolean {
  return charting.chosen.pins.value.includes(pin);
}

// The tensors that are drawn: the pinned ones, or the selection if nothing is chosen.
export function chartedPins({ chosen, store: { recorded, shown } }: Charting): readonly string[] {
  const pins = chosen.pins.value;
  const [hierarchy, selected] = [recorded.hierarchy.value, shown.selected.value];
  if (pins.length > 0 || chosen.quantities.value.length > 0 || hierarchy === undefined || selected === undefined) return pins;
  return pinsOf(hierarchy, selected).slice(0, MOST_PINS);
}

// What a mark says of the charts besides the step: the drawn tensors, numbers and runs, and the steps of a zoomed chart.
export function chartedFacts(charting: Charting): readonly Fact[] {
  const { quantities, runs, everyRun, zoom } = charting.chosen;
  const lines = [...chartedPins(charting).map((pin) => pin.replace(/^parameter:/, "").replace(/:0$/, "")), ...quantities.peek()];
  const [from, to] = zoom.peek().x ?? [];
  return [
    ...(from === undefined || to === undefined ? [] : [["Steps", `${Math.ceil(from)} to ${Math.floor(to)}`] as const]),
    ...(lines.length === 0 ? [] : [["Lines", lines.join(", ")] as const]),
    ...(everyRun.peek() ? [["Runs", "all"] as const] : runs.peek().length === 0 ? [] : [["Also runs", runs.peek().join(", ")] as const]),
  ];
}

// Adds as many pins as fit. A notice says if some do not fit.
export function pin({ store, chosen }: Charting, added: readonly string[]): void {
  const { pins } = chosen;
  const all = [...new Set([...pins.peek(), ...added])];
  batch(() => {
    pins.value = all.slice(0, MOST_PINS);
    if (all.length > MOST_PINS)
      store.shown.notice.value = `At most ${MOST_PINS} tensors fit into one chart; ${all.length - MOST_PINS} were left out.`;
  });
}

export function unpin(charting: Charting, removed: string): void {
  charting.chosen.pins.value = charting.chosen.pins.peek().filter((one) => one !== removed);
}

// Removes a line from the charts, whether it is pinned or only selected. After the last pin is
// removed, the same tensor is not drawn as the selection.
export function removeCharted(charting: Charting, removed: string): void {
  batch(() => {
    charting.chosen.pins.value = chartedPins(charting).filter((one) => one !== removed);
    if (charting.chosen.pins.value.length > 0) return;
    charting.store.shown.selected.value = undefined;
    charting.chosen.emptied.value = charting.chosen.quantities.value.length === 0;
  });
}

// `all`: the runs that can be drawn over the shown one.
export function toggleRun({ chosen }: Charting, run: string, all: readonly string[]): void {
  const known = chosen.everyRun.peek() ? all : chosen.runs.peek();
  chooseRuns({ chosen }, known.includes(run) ? known.filter((one) => one !== run) : [...known, run]);
}

export function chooseRuns({ chosen }: Pick<Charting, "chosen">, runs: readonly string[] | "every"): void {
  batch(() => {
    chosen.everyRun.value = runs === "every";
    chosen.runs.value = runs === "every" ? [] : runs;
  });
}
