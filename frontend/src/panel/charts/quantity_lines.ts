// Numbers of the step as a whole, as lines: which there are, which are chosen, and their points.

import type { ChartLine } from "../../draw/charts/chart_line";
import { atPass, type Quantity } from "../../model/flow/scalar_line";
import { tagKey, type FetchedCharts } from "./charts_data";
import { MOST_PINS, type Charting } from "./charts_state";

export interface LinePoints extends Pick<ChartLine, "steps" | "values" | "nonfinite" | "gap"> {
  readonly problem: string | undefined; // why there is no such line
}

function quantitiesOf({ store, quantities }: FetchedCharts, run: string): ReturnType<FetchedCharts["quantities"]["value"]["get"]> {
  return quantities.value.get(tagKey(run, store.place.tag.value?.tag ?? ""));
}

// The names that the shown run and those over it have and that are not drawn yet, in the order of the answer.
export function offeredQuantities(charting: FetchedCharts, runs: readonly string[]): readonly string[] {
  const known = runs.flatMap((run) => {
    const reply = quantitiesOf(charting, run);
    return reply?.ok ? [...reply.value.known.keys()] : [];
  });
  return [...new Set(known)].filter((name) => !charting.chosen.quantities.value.includes(name));
}

// Those that the shown run lacks, and why.
export function missingQuantities(charting: FetchedCharts): readonly (readonly [name: string, why: string])[] {
  const reply = quantitiesOf(charting, charting.store.place.run.value?.run ?? "");
  return reply?.ok ? [...reply.value.missing] : [];
}

export function addQuantity({ store, chosen }: Charting, name: string): void {
  const { quantities } = chosen;
  if (quantities.peek().includes(name)) return;
  if (quantities.peek().length >= MOST_PINS) store.shown.notice.value = `At most ${MOST_PINS} numbers of the step fit into one chart.`;
  else quantities.value = [...quantities.peek(), name];
}

export function removeQuantity({ chosen }: Charting, name: string): void {
  chosen.quantities.value = chosen.quantities.peek().filter((one) => one !== name);
}

// Undefined while it is loading.
export function quantityIn(charting: FetchedCharts, name: string, run: string): LinePoints | undefined {
  const reply = quantitiesOf(charting, run);
  if (reply === undefined) return undefined;
  const found = reply.ok ? reply.value.known.get(name) : undefined;
  if (found === undefined)
    return {
      steps: [],
      values: [],
      nonfinite: new Map(),
      problem: reply.ok ? (reply.value.missing.get(name) ?? `No record has ${name}.`) : reply.error,
    };
  return { ...pointsAt(found, charting.store.place.ref.value?.backwardPass ?? 0), problem: undefined, gap: "no number" };
}

function pointsAt(quantity: Quantity, pass: number): Pick<LinePoints, "steps" | "values" | "nonfinite"> {
  const { steps, values } = atPass(quantity, pass);
  return {
    steps,
    values: values.map((value) => (Number.isFinite(value) ? value : null)),
    nonfinite: new Map(steps.flatMap((step, i): [number, number][] => (Number.isFinite(values[i]) ? [] : [[step, values[i]!]]))),
  };
}
