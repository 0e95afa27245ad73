// One recorded backward pass, or one stage of an optimizer's step, as the panel reads it.

import { FORWARD, WHOLE_LIMIT, type WhatKept } from "../../base/vocabulary";
import { BACKWARD } from "./run";

export interface Whole {
  readonly gradient: readonly number[] | undefined;
  readonly value: readonly number[] | undefined;
}

export interface RecordedStep {
  readonly run: string;
  readonly tag: string;
  readonly hash: string;
  readonly step: number;
  readonly backwardPass: number;
  readonly wallTime: number;
  readonly stage: string;
  readonly objective: string;
  readonly rows: number;
  readonly hasGradients: boolean;
  readonly everyNSteps: number; // the cadence of the watch; 0: not from a watch
  readonly unread?: ReadonlyMap<number, string>; // rows that could not be read, and why
  readonly noOptimizer?: ReadonlySet<number>; // rows of parameters that no optimizer of the watch has
  readonly statistics: readonly string[];
  readonly values: Float32Array; // [statistics, rows]
  readonly present: Uint8Array; // [rows]
  readonly whole: ReadonlyMap<number, Whole>;
  // Rows of arrays that were kept whole and are too large to come with the step.
  readonly leftOut: { readonly gradient: ReadonlySet<number>; readonly value: ReadonlySet<number> };
}

// The record, if it is one of this graph.
export function currentRecord(
  record: RecordedStep | undefined,
  graph: { readonly hash: string; readonly rows: number },
): RecordedStep | undefined {
  return record?.hash === graph.hash && record.rows === graph.rows ? record : undefined;
}

// At stages after the backward only parameters have gradients.
export function isOfParameters(record: RecordedStep | undefined): boolean {
  return record !== undefined && record.stage !== BACKWARD && halfOf(record.stage) === "gradient";
}

// What the numbers of a record are: of what flowed back, or of what flowed forward.
export type Half = WhatKept;

export function halfOf(stage: string | undefined): Half {
  return stage === FORWARD ? "value" : "gradient";
}

// "Gradient, applied" or "Value", in titles.
export function nounOf(stage: string | undefined): string {
  if (halfOf(stage) === "value") return "Value";
  return stage === undefined || stage === BACKWARD ? "Gradient" : `Gradient, ${stage}`;
}

// For a tensor without a number.
export function noneWord(half: Half): string {
  return half === "value" ? "not read" : "no gradient";
}

// A parameter's value is its weight.
export function halfWord(half: Half, kind: string | undefined): string {
  return half === "value" && kind === "parameter" ? "weight" : half;
}

// The approximate memory of a record, which limits how many are kept.
export function bytesOf({ values, present, whole }: RecordedStep): number {
  let elements = 0;
  for (const { gradient, value } of whole.values()) elements += (gradient?.length ?? 0) + (value?.length ?? 0);
  return values.byteLength + present.byteLength + 8 * elements;
}

// The number of one row, or undefined if there is none.
export function numberAt(record: RecordedStep, statistic: string, row: number): number | undefined {
  const column = record.statistics.indexOf(statistic);
  if (column === -1 || record.present[row] !== 1) return undefined;
  const value = record.values[column * record.rows + row]!;
  return Number.isNaN(value) ? undefined : value;
}

// The element of a small array whose elements are all equal, so that it is shown like a scalar.
export function elementOf(array: readonly number[] | undefined): number | undefined {
  const first = array?.[0];
  return array !== undefined && array.length <= WHOLE_LIMIT && array.every((one) => Object.is(one, first)) ? first : undefined;
}

// The element of a gradient (or value) with one element, if it was kept whole.
export function scalarOf(array: readonly number[] | undefined): number | undefined {
  return array?.length === 1 ? array[0] : undefined;
}
