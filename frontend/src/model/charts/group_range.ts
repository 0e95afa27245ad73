// Many lines as three: at each step the median of their numbers, the least and the greatest.

import { medianOf } from "../../base/median";

export interface GroupedLine {
  readonly steps: readonly number[]; // ascending
  readonly values: readonly (number | null)[];
}

export interface GroupRange {
  readonly steps: readonly number[]; // at which any of them has a number
  readonly median: readonly number[];
  readonly low: readonly number[];
  readonly high: readonly number[];
}

// Each step has the numbers of the lines that have one there. NaN and infinity are no numbers.
export function groupRange(lines: readonly GroupedLine[]): GroupRange {
  const at = new Map<number, number[]>();
  for (const { steps, values } of lines) {
    steps.forEach((step, i) => {
      const value = values[i];
      if (value === null || value === undefined || !Number.isFinite(value)) return;
      const found = at.get(step);
      if (found === undefined) at.set(step, [value]);
      else found.push(value);
    });
  }
  const steps = [...at.keys()].sort((a, b) => a - b);
  const sorted = steps.map((step) => at.get(step)!.sort((a, b) => a - b));
  return { steps, median: sorted.map(medianOf), low: sorted.map((numbers) => numbers[0]!), high: sorted.map((numbers) => numbers.at(-1)!) };
}
