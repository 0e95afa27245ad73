// Histograms over log2 of the magnitude, one column for each step. They hold shares, without bins
// that are always empty.

import { fencesOf } from "./bulk";

export interface HistogramColumns {
  readonly steps: readonly number[];
  readonly low: number; // log2 of the lower end of the lowest bin
  readonly width: number; // of a bin, in log2
  readonly bins: number;
  readonly shares: Float32Array; // [steps, bins]; 0..1, all 0 if no element is nonzero
  readonly sampled: readonly number[]; // nonzero elements, by step
  readonly full: number; // the share that gets the full color: the greatest one, without outliers
}

// At least this many bins, so that a narrow distribution is not one band.
const LEAST_BINS = 8;

export function columnsOf(
  histogram: ArrayLike<number>,
  allBins: number,
  low: number,
  width: number,
  records: readonly number[],
  steps: readonly number[],
): HistogramColumns | undefined {
  let [first, last] = [allBins, -1];
  for (const record of records) {
    for (let bin = 0; bin < allBins; bin++) {
      if (histogram[record * allBins + bin] === 0) continue;
      first = Math.min(first, bin);
      last = Math.max(last, bin);
    }
  }
  if (last === -1) return undefined;
  const from = Math.max(0, Math.min(first - 1, allBins - LEAST_BINS));
  const bins = Math.min(allBins - from, Math.max(LEAST_BINS, last + 2 - from));
  const shares = new Float32Array(records.length * bins);
  const sampled = records.map((record) => {
    let sum = 0;
    for (let bin = 0; bin < allBins; bin++) sum += histogram[record * allBins + bin]!;
    return sum;
  });
  records.forEach((record, i) => {
    for (let bin = 0; bin < bins && sampled[i]! > 0; bin++)
      shares[i * bins + bin] = histogram[record * allBins + from + bin]! / sampled[i]!;
  });
  return {
    steps: records.map((record) => steps[record]!),
    low: low + width * from,
    width,
    bins,
    shares,
    sampled,
    full: fullShare(shares, bins),
  };
}

function fullShare(shares: Float32Array, bins: number): number {
  const greatest = Float64Array.from({ length: shares.length / bins }, (_, column) =>
    shares.subarray(column * bins, (column + 1) * bins).reduce((a, b) => Math.max(a, b), 0),
  );
  const high = fencesOf(greatest)?.[1] ?? 1; // sorts them
  return Math.min(greatest.at(-1) ?? 1, high);
}

// The boundaries of the columns, halfway between steps.
export function columnEdges(steps: readonly number[]): readonly number[] {
  const gap = (at: number): number => (steps.length < 2 ? 1 : steps[at]! - steps[at - 1]!);
  return [steps[0]! - gap(1) / 2, ...steps.slice(1).map((step, i) => (step + steps[i]!) / 2), steps.at(-1)! + gap(steps.length - 1) / 2];
}
