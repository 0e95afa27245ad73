// The range of a vertical axis: one line far away from all others does not flatten them.

export interface RangedLine {
  readonly id: string;
  readonly entry: string; // lines of one entry are compared with each other
  readonly values: readonly (number | null)[];
}

export interface AxisRange {
  readonly low: number;
  readonly high: number;
  // Lines that leave the range, with their greatest distance from zero.
  readonly cut: readonly { readonly id: string; readonly reaches: number }[];
}

interface Ends {
  readonly line: RangedLine;
  readonly low: number; // along the axis
  readonly high: number;
}

const REACH = 4; // a line may go this many times the range of the middle line beyond it

// All numbers of the lines; undefined if there are none. A logarithmic axis has magnitudes and no zeros.
export function fullRange(lines: readonly RangedLine[], log: boolean): AxisRange | undefined {
  return rangeOf(endsOf(lines, log), log, []);
}

// Without lines that go far beyond the middle one of their entry. Of an entry's only line, on a
// logarithmic axis, numbers far beyond nine in ten of its own are left out.
export function robustRange(lines: readonly RangedLine[], log: boolean): AxisRange | undefined {
  const ends = endsOf(lines, log);
  const kept: Ends[] = [];
  const cut: Ends[] = [];
  for (const entry of new Set(lines.map((line) => line.entry))) {
    const group = ends.filter(({ line }) => line.entry === entry);
    if (group.length === 0) continue;
    const [least, most] = middleOf(group, log);
    const reach = REACH * Math.max(most - least, log ? 1 : Math.max(Math.abs(most), Math.abs(least)));
    const [from, to] = [least - reach, most + reach];
    for (const one of group) {
      const isCut = one.low < from || one.high > to;
      if (isCut) cut.push(one);
      if (!isCut) kept.push(one);
      else if (group.length === 1) kept.push({ ...one, low: Math.max(one.low, from), high: Math.min(one.high, to) });
    }
  }
  return rangeOf(kept, log, cut);
}

function middleOf(group: readonly Ends[], log: boolean): readonly [number, number] {
  const [only, ...others] = group as [Ends, ...Ends[]];
  if (others.length === 0) {
    const numbers = log ? alongOf(only.line, log).sort((a, b) => a - b) : [only.low, only.high];
    const tenth = Math.floor(numbers.length / 10);
    return [numbers[tenth]!, numbers.at(-1 - tenth)!];
  }
  const lows = group.map(({ low }) => low).sort((a, b) => a - b);
  const highs = group.map(({ high }) => high).sort((a, b) => a - b);
  return [lows[lows.length >> 1]!, highs[(highs.length - 1) >> 1]!];
}

function endsOf(lines: readonly RangedLine[], log: boolean): readonly Ends[] {
  return lines.flatMap((line) => {
    let [low, high] = [Infinity, -Infinity];
    for (const value of alongOf(line, log)) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return low > high ? [] : [{ line, low, high }];
  });
}

function alongOf({ values }: RangedLine, log: boolean): number[] {
  const found: number[] = [];
  for (const value of values) {
    if (value === null || !Number.isFinite(value) || (log && value === 0)) continue;
    found.push(log ? Math.log10(Math.abs(value)) : value);
  }
  return found;
}

function rangeOf(kept: readonly Ends[], log: boolean, cut: readonly Ends[]): AxisRange | undefined {
  if (kept.length === 0) return undefined;
  const back = (along: number): number => (log ? 10 ** along : along);
  return {
    low: back(Math.min(...kept.map(({ low }) => low))),
    high: back(Math.max(...kept.map(({ high }) => high))),
    cut: cut.map(({ line, low, high }) => ({ id: line.id, reaches: log || high >= -low ? back(high) : back(low) })),
  };
}
