// Chooses the height of each line above the columns, so that few lines cross.

// Between two lines beside each other.
export const LANE = 12;
// With more lines, the search takes too long.
const MOST = 14;

// A line along a track, and where it leaves the track up and down.
export interface Span {
  readonly from: number;
  readonly to: number;
  readonly above: readonly number[];
  readonly below: readonly number[];
}

// The track of each span, counted upward from the columns, so that none overlap. Usually short ones are low.
export function tracksOf(spans: readonly Span[]): readonly number[] {
  const all = spans.flatMap(({ from, to }, i) => (Number.isFinite(from) && Number.isFinite(to) ? [i] : [])); // others enter no column
  const order = all.sort((a, b) => lengthOf(spans[a]!) - lengthOf(spans[b]!) || a - b);
  let best = lowest(spans, order);
  let fewest = crossingsOf(spans, best);
  if (order.length > MOST) return best;
  for (let found = fewest > 0; found;) {
    found = false;
    for (const moved of [...order]) {
      for (let at = 0; at < order.length && fewest > 0; at++) {
        const other = order.filter((one) => one !== moved);
        other.splice(at, 0, moved);
        const tracks = stacked(spans, other);
        const count = crossingsOf(spans, tracks);
        if (count >= fewest) continue;
        [best, fewest, found] = [tracks, count, true];
        order.splice(0, order.length, ...other);
      }
    }
  }
  return best;
}

// Each on the lowest free track.
function lowest(spans: readonly Span[], order: readonly number[]): readonly number[] {
  const tracks = spans.map(() => -1);
  const taken: Span[][] = [];
  for (const i of order) {
    if (lengthOf(spans[i]!) === 0) {
      tracks[i] = 0;
      continue;
    }
    let track = taken.findIndex((others) => !others.some((other) => overlap(other, spans[i]!)));
    if (track === -1) track = taken.push([]) - 1;
    taken[track]!.push(spans[i]!);
    tracks[i] = track;
  }
  return tracks;
}

// Each above all earlier ones that it overlaps.
function stacked(spans: readonly Span[], order: readonly number[]): readonly number[] {
  const tracks = spans.map(() => -1);
  order.forEach((i, at) => {
    const below = order.slice(0, at).filter((other) => lengthOf(spans[other]!) > 0 && overlap(spans[other]!, spans[i]!));
    tracks[i] = lengthOf(spans[i]!) === 0 ? 0 : Math.max(-1, ...below.map((other) => tracks[other]!)) + 1;
  });
  return tracks;
}

function crossingsOf(spans: readonly Span[], tracks: readonly number[]): number {
  const within = ({ from, to }: Span, xs: readonly number[]): number => xs.filter((x) => from < x && x < to).length;
  let count = 0;
  spans.forEach((high, i) =>
    spans.forEach((low, j) => {
      if (tracks[i]! > tracks[j]! && tracks[j] !== -1) count += within(low, high.below) + within(high, low.above);
    }),
  );
  return count;
}

function overlap(one: Span, other: Span): boolean {
  return one.from <= other.to + LANE && other.from <= one.to + LANE;
}

function lengthOf({ from, to }: Span): number {
  return to - from;
}
