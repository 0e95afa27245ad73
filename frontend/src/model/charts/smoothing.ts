// Smooths a line in the same way as TensorBoard's Time Series.

// An exponential moving average, without the bias towards zero at its beginning; `weight` from 0 to
// less than 1. A constant line does not change, nor do values that are no numbers.
export function smooth(values: readonly (number | null)[], weight: number): readonly (number | null)[] {
  const numbers = values.filter((value) => value !== null);
  if (weight <= 0 || numbers.every((value) => value === numbers[0])) return values;
  let [last, count] = [0, 0];
  return values.map((value) => {
    if (value === null || !Number.isFinite(value)) return value;
    last = last * weight + (1 - weight) * value;
    count++;
    return last / (1 - weight ** count);
  });
}
