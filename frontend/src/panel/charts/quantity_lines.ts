// Numbers of the step as a whole, as lines: which there are, which are chosen, and their points.

import { batch } from "@preact/signals";
import type { ChartLine } from "../../draw/charts/chart_line";
import { atPass, LOSS, type Quantity } from "../../model/flow/scalar_line";
import { BACKWARD } from "../../model/recorded/run";
import { chartedPins } from "./charts_actions";
import { tagKey, type FetchedCharts } from "./charts_data";
import { MOST_PINS } from "./charts_state";

const GRAD_NORM = "grad_norm"; // followed by its stage

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
  return [...new Set(known)].filter((name) => !chartedQuantities(charting).includes(name));
}

// Those that the shown run lacks, and why.
export function missingQuantities(charting: FetchedCharts): readonly (readonly [name: string, why: string])[] {
  const reply = quantitiesOf(charting, charting.store.place.run.value?.run ?? "");
  return reply?.ok ? [...reply.value.missing] : [];
}

// The chosen ones. While nothing at all is chosen: the loss and the total norm of the gradient.
export function chartedQuantities(charting: FetchedCharts): readonly string[] {
  const { chosen, store } = charting;
  if (chosen.quantities.value.length > 0 || chosen.emptied.value || chartedPins(charting).length > 0) return chosen.quantities.value;
  const reply = quantitiesOf(charting, store.place.run.value?.run ?? "");
  const known = reply?.ok ? [...reply.value.known.keys()] : [];
  const norm = `${GRAD_NORM}/${store.place.ref.value?.stage ?? BACKWARD}`;
  const norms = known.filter((name) => name.startsWith(`${GRAD_NORM}/`));
  return [LOSS, norms.includes(norm) ? norm : norms[0]].filter((name) => name !== undefined && known.includes(name)) as string[];
}

export function addQuantity(charting: FetchedCharts, name: string): void {
  const charted = chartedQuantities(charting);
  if (charted.includes(name)) return;
  if (charted.length >= MOST_PINS) charting.store.shown.notice.value = `At most ${MOST_PINS} numbers of the step fit into one chart.`;
  else charting.chosen.quantities.value = [...charted, name];
}

export function removeQuantity(charting: FetchedCharts, name: string): void {
  const left = chartedQuantities(charting).filter((one) => one !== name);
  batch(() => {
    charting.chosen.emptied.value = left.length === 0;
    charting.chosen.quantities.value = left;
  });
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
