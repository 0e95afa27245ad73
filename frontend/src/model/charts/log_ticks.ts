// Chooses the numbers on an axis.

// Powers of ten. If there are few of them, also 2 and 5 times them. Over an even shorter range,
// numbers at equal distances.
export function logTicks(low: number, high: number, most: number): readonly number[] {
  if (!(low > 0) || !(high > low)) return [];
  const decades = Math.log10(high / low);
  if (decades < 0.7) return evenTicks(low, high, most);
  const stride = Math.max(1, Math.ceil(decades / most));
  const factors = decades * 3 <= most ? [1, 2, 5] : [1];
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    if (power % stride !== 0) continue;
    for (const factor of factors) {
      const tick = Number(`${factor}e${power}`);
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks.length >= 2 ? ticks : evenTicks(low, high, most);
}

export function evenTicks(low: number, high: number, most: number): readonly number[] {
  const least = (high - low) / Math.max(2, most);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= least * (1 - 1e-9)) ?? 10 * power;
  const from = Math.ceil(low / step);
  return Array.from({ length: Math.max(0, Math.floor(high / step) - from + 1) }, (_, i) => Number(((from + i) * step).toPrecision(12)));
}
