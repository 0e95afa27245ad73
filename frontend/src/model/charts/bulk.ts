// Finds the range of most numbers, so that a few outliers do not stretch the color scale.

// The share that counts as outliers at either end, as in xarray's robust=True; of ten or more numbers at least one.
const LEFT_OUT = 0.02;
const FEWEST = 10;
// A number is an outlier only if it is beyond the others by at least this part of their range.
const MARGIN = 0.25;
const ROUNDING = 1e-9;

export type Range = readonly [number, number];

// Numbers beyond these two are outliers. Sorts `numbers` in place. Undefined if there are no numbers.
export function fencesOf(numbers: Float64Array): Range | undefined {
  if (numbers.length === 0) return undefined;
  numbers.sort();
  const left = numbers.length < FEWEST ? 0 : Math.ceil(LEFT_OUT * numbers.length);
  const [low, high] = [numbers[left]!, numbers.at(-1 - left)!];
  const margin = MARGIN * (high - low) + ROUNDING;
  return [low - margin, high + margin];
}
