// What the view of charts draws, and how that changes.

import { batch } from "@preact/signals";
import { MOST_PINS, MOST_RUNS, pinsOf } from "./charts";
import type { Store } from "./store";

export function isPinned(store: Store, pin: string): boolean {
  return store.charts.pins.value.includes(pin);
}

// What is drawn: the pinned ones; where there are none, what is selected.
export function chartedPins({ charts, hierarchy, selected }: Store): readonly string[] {
  const pins = charts.pins.value;
  if (pins.length > 0 || hierarchy.value === undefined || selected.value === undefined) return pins;
  return pinsOf(hierarchy.value, selected.value).slice(0, MOST_PINS);
}

// Pins are added as far as there is room; who wants more is told.
export function pin(store: Store, added: readonly string[]): void {
  const { pins } = store.charts;
  const all = [...new Set([...pins.peek(), ...added])];
  batch(() => {
    pins.value = all.slice(0, MOST_PINS);
    if (all.length > MOST_PINS) store.notice.value = `${MOST_PINS} tensors are drawn over each other at most; ${all.length - MOST_PINS} were left out.`;
  });
}

export function unpin(store: Store, removed: string): void {
  store.charts.pins.value = store.charts.pins.peek().filter((one) => one !== removed);
}

// Takes a line out of the charts, be it pinned or only selected. The last one does not come back as the selected one.
export function removeCharted(store: Store, removed: string): void {
  batch(() => {
    store.charts.pins.value = chartedPins(store).filter((one) => one !== removed);
    if (store.charts.pins.value.length === 0) store.selected.value = undefined;
  });
}

export function toggleRun(store: Store, run: string): void {
  const { runs } = store.charts;
  const known = runs.peek();
  runs.value = known.includes(run) ? known.filter((one) => one !== run) : [...known, run].slice(-MOST_RUNS);
}
