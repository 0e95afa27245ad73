// The middle of some numbers.

// Of an even count, the mean of the two in the middle. NaN for none.
export function medianOf(sorted: ArrayLike<number>): number {
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return NaN;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
