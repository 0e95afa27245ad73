// Numbers of a row over a span of steps: its median, its slope, and where it begins to be bad.

import { Relation } from "../compare/comparison";
import { State } from "../visible/values";
import type { Flow } from "./flow";
import { isCompared } from "./flow_compared";
import type { Span } from "./flow_window";

export interface RowSummary {
  readonly median: number; // of the finite numbers; NaN: there is none
  // By least squares, per step; of log10 of the magnitude if the statistic has a log scale. NaN: fewer than two numbers.
  readonly slope: number;
  readonly firstBad: number | undefined; // the first step with NaN or infinity
}

// In a comparison the number is the ratio, here ÷ there. NaN: none, or not finite.
export function numberAt(flow: Flow, entity: number, column: number): number {
  const at = entity * flow.steps.length + column;
  if (isCompared(flow)) return flow.relation[at] === Relation.both ? finiteOr(2 ** flow.log2[at]!) : NaN;
  const state = flow.state[at];
  return state === State.zero ? 0 : state === State.number ? finiteOr(flow.value[at]!) : NaN;
}

function finiteOr(value: number): number {
  return Number.isFinite(value) ? value : NaN;
}

export function isBadAt(flow: Flow, entity: number, column: number): boolean {
  const at = entity * flow.steps.length + column;
  return isCompared(flow) ? flow.relation[at] === Relation.nonfinite : flow.state[at] === State.nonfinite;
}

export function isLogarithmic(flow: Flow): boolean {
  return isCompared(flow) || flow.statistic.scale === "log";
}

export function summarizeRow(flow: Flow, entity: number, [from, to]: Span): RowSummary {
  const numbers: number[] = [];
  const points: [number, number][] = [];
  let firstBad: number | undefined;
  const log = isLogarithmic(flow);
  for (let column = from; column < to; column++) {
    const number = numberAt(flow, entity, column);
    if (firstBad === undefined && isBadAt(flow, entity, column)) firstBad = flow.steps[column]!;
    if (Number.isNaN(number)) continue;
    numbers.push(number);
    if (!log) points.push([flow.steps[column]!, number]);
    else if (number !== 0) points.push([flow.steps[column]!, Math.log10(Math.abs(number))]);
  }
  return { median: medianOf(numbers), slope: slopeOf(points), firstBad };
}

// The first step of the span at which the magnitude is below a limit; zero is.
export function firstBelow(flow: Flow, entity: number, limit: number, [from, to]: Span): number | undefined {
  for (let column = from; column < to; column++) if (Math.abs(numberAt(flow, entity, column)) < limit) return flow.steps[column]!;
  return undefined;
}

function medianOf(numbers: readonly number[]): number {
  if (numbers.length === 0) return NaN;
  const sorted = Float64Array.from(numbers).sort();
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

function slopeOf(points: readonly (readonly [number, number])[]): number {
  const mean = (at: 0 | 1): number => points.reduce((sum, point) => sum + point[at], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const [xy, xx] = points.reduce(([a, b], [px, py]) => [a + (px - x) * (py - y), b + (px - x) ** 2], [0, 0]);
  return xx! > 0 ? xy! / xx! : NaN;
}
