// Where most of many numbers lie, so that a few far outside leave the colors to the others.

// Left out at either end, as xarray's robust=True does; of ten or more numbers at least one.
const LEFT_OUT = 0.02;
const FEWEST = 10;
// Beyond the others by less than this part of their length, a number is no outlier.
const MARGIN = 0.25;
const ROUNDING = 1e-9;

export type Range = readonly [number, number];

// What is beyond these two is far outside; `numbers` are sorted in place. Undefined: there are none.
export function fencesOf(numbers: Float64Array): Range | undefined {
  if (numbers.length === 0) return undefined;
  numbers.sort();
  const left = numbers.length < FEWEST ? 0 : Math.ceil(LEFT_OUT * numbers.length);
  const [low, high] = [numbers[left]!, numbers.at(-1 - left)!];
  const margin = MARGIN * (high - low) + ROUNDING;
  return [low - margin, high + margin];
}
