// Where most of many numbers lie, so that a few far outside do not flatten the colors of the others.

// The share left out at either end, as with xarray's robust=True; at least one of ten or more numbers.
const LEFT_OUT = 0.02;
const FEWEST = 10;
// A number is no outlier if it is beyond the others by less than this part of their range.
const MARGIN = 0.25;
const ROUNDING = 1e-9;

export type Range = readonly [number, number];

// Numbers beyond these two are far outside. `numbers` are sorted in place. Undefined: there are no numbers.
export function fencesOf(numbers: Float64Array): Range | undefined {
  if (numbers.length === 0) return undefined;
  numbers.sort();
  const left = numbers.length < FEWEST ? 0 : Math.ceil(LEFT_OUT * numbers.length);
  const [low, high] = [numbers[left]!, numbers.at(-1 - left)!];
  const margin = MARGIN * (high - low) + ROUNDING;
  return [low - margin, high + margin];
}
