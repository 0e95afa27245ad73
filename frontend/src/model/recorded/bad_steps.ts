// Steps at which a gradient in any graph of a tag held NaN or infinity, and in which passes and stages.

import { STAGES } from "../../base/vocabulary";
import { BACKWARD, passesAt, type RecordRef } from "./run";
import { positionOf } from "./step_axis";

export type Reading = Pick<RecordRef, "step" | "stage" | "backwardPass">;
export type BadSteps = ReadonlyMap<number, readonly Reading[]>; // by step

const MOST_SAID = 4;

// `readings` may be in any order and contain duplicates.
export function badStepsOf(readings: readonly Reading[]): BadSteps {
  const order = (one: Reading): number => STAGES.indexOf(one.stage);
  const sorted = [...readings].sort((a, b) => a.step - b.step || order(a) - order(b) || a.backwardPass - b.backwardPass);
  const steps = new Map<number, Reading[]>();
  for (const reading of sorted) {
    const known = steps.get(reading.step) ?? [];
    const last = known.at(-1);
    if (last?.stage !== reading.stage || last.backwardPass !== reading.backwardPass) known.push(reading);
    steps.set(reading.step, known);
  }
  return steps;
}

// The first and the last step of each time that lasted: all recorded steps (ascending) between them are among `bad`.
export function lastingSpans(steps: readonly number[], bad: { has(step: number): boolean }): readonly (readonly [number, number])[] {
  const spans: [number, number][] = [];
  let lasts = false;
  for (const step of steps) {
    const isBad = bad.has(step);
    if (isBad && lasts) spans.at(-1)![1] = step;
    else if (isBad) spans.push([step, step]);
    lasts = isBad;
  }
  return spans;
}

// "NaN or infinity in this step: pass 3", for all bad steps in a column.
export function badWords(bad: BadSteps, records: readonly RecordRef[], steps: readonly number[], column: number): string {
  return [...bad.keys()]
    .filter((step) => Math.floor(positionOf(steps, step)) === column)
    .map((step) => `NaN or infinity in ${step === steps[column] ? "this step" : `step ${step}`}${whereIn(records, bad.get(step)!)}`)
    .slice(0, MOST_SAID)
    .join("; ");
}

// Only for a step that was read more than once.
function whereIn(records: readonly RecordRef[], readings: readonly Reading[]): string {
  const { step } = readings[0]!;
  if (records.filter((record) => record.step === step).length < 2) return "";
  const passes = passesAt(records, step, BACKWARD).length;
  const words = readings.map(({ stage, backwardPass }) => (stage === BACKWARD && passes > 1 ? `pass ${backwardPass + 1}` : stage));
  return `: ${words.slice(0, MOST_SAID).join(", ")}${words.length > MOST_SAID ? ", …" : ""}`;
}
