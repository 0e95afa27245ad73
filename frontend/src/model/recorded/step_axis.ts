// The positions of steps over columns of equal width. Between two recorded steps they are interpolated.

// In columns; the middle of the first one is at 0.5. Before the first and after the last step, the
// nearest distance of two steps is used.
export function positionOf(steps: readonly number[], step: number): number {
  const last = steps.length - 1;
  if (last < 0) return 0;
  if (last === 0) return 0.5 + Math.max(-0.5, Math.min(0.5, step - steps[0]!));
  const at = Math.max(0, Math.min(last - 1, countUpTo(steps, step) - 1));
  return at + 0.5 + (step - steps[at]!) / (steps[at + 1]! - steps[at]!);
}

// How many of the ascending steps are at most `step`.
function countUpTo(steps: readonly number[], step: number): number {
  let [low, high] = [0, steps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle]! <= step) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Columns with a number below them: as many as fit, at equal distances.
export function columnTicks(from: number, to: number, count: number, unitPx: number, roomPx: number): readonly number[] {
  const stride = Math.max(1, niceStride(roomPx / unitPx));
  const ticks: number[] = [];
  for (let at = Math.ceil(Math.max(0, from) / stride) * stride; at < Math.min(to, count); at += stride) ticks.push(at);
  return ticks;
}

// 1, 2, 5, 10, 20, ...
function niceStride(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map((one) => one * power).find((one) => one >= least) ?? 10 * power;
}
