// Ranges of an axis that is zoomed and moved. On a logarithmic axis equal distances are equal ratios.

export type Ends = readonly [low: number, high: number];

const LEAST = 1e-300;
const MOST = 1e300;

// The range in which the number at `part` of the axis (0 to 1) stays in its place. A factor below 1 zooms in.
export function zoomedAround([low, high]: Ends, part: number, factor: number, log: boolean): Ends {
  const [from, to] = [along(low, log), along(high, log)];
  const fixed = from + part * (to - from);
  return backOf(fixed + (from - fixed) * factor, fixed + (to - fixed) * factor, log, [low, high]);
}

// The range after the axis was moved by a part of its length; a positive one shows greater numbers.
export function movedBy([low, high]: Ends, part: number, log: boolean): Ends {
  const [from, to] = [along(low, log), along(high, log)];
  const by = part * (to - from);
  return backOf(from + by, to + by, log, [low, high]);
}

// The range between two parts of an axis, in any order.
export function partOf([low, high]: Ends, first: number, second: number, log: boolean): Ends {
  const [from, to] = [along(low, log), along(high, log)];
  const at = (part: number): number => from + part * (to - from);
  return backOf(at(Math.min(first, second)), at(Math.max(first, second)), log, [low, high]);
}

// The range within `all`, as wide as it was, and not narrower than `least`.
export function keptWithin([low, high]: Ends, [from, to]: Ends, least: number): Ends {
  const wide = Math.min(Math.max(high - low, least), to - from);
  const start = Math.min(Math.max((low + high - wide) / 2, from), to - wide);
  return [start, start + wide];
}

function along(value: number, log: boolean): number {
  return log ? Math.log10(Math.max(value, LEAST)) : value;
}

// What cannot be told apart, or is beyond what numbers can hold, stays as it was.
function backOf(from: number, to: number, log: boolean, before: Ends): Ends {
  const [low, high] = log ? [10 ** from, 10 ** to] : [from, to];
  const near = (high - low) / Math.max(Math.abs(low), Math.abs(high)) < 1e-9;
  return near || !(high > low) || Math.abs(high) > MOST || (log && low < LEAST) ? before : [low, high];
}
