// Puts the columns of a level next to each other, to be read from the left to the right. In each,
// the data runs down. A line to a later column leaves its own at the lower end, goes up beside it,
// along a track above the columns, and down into the other.

import type { Point, Rect, Size } from "../../base/geometry";

// One laid out level or column.
export interface Tall {
  readonly size: Size;
  readonly ports: readonly Point[]; // at the top or at the bottom
  readonly rects: readonly Rect[];
  readonly paths: readonly (readonly Point[])[]; // orthogonal
}

// A tensor that leaves a column, or that enters the level (column -1), and its ways into columns.
export interface Source {
  readonly column: number;
  readonly exit: number; // port of the column, at its bottom
  readonly entries: readonly Entry[];
}

export interface Entry {
  readonly column: number;
  readonly port: number; // port of that column, at its top
}

const LANE = 12;
const MARGIN = 12;
const LEAST_GAP = 30;

export interface Abreast {
  readonly size: Size;
  readonly offsets: readonly Point[]; // of each column
  readonly starts: readonly Point[]; // of each source: where it enters the level, or leaves its column
  // For each source and each of its entries: the points from the port where it leaves to the port where it enters.
  readonly ways: readonly (readonly (readonly Point[])[])[];
}

// `top`: room for the title.
export function putAbreast(columns: readonly Tall[], sources: readonly Source[], top: number): Abreast {
  const leaving = columns.map((_, at) => sources.flatMap((source, i) => (source.column === at && source.entries.length > 0 ? [i] : [])));
  const xs: number[] = [];
  let right = MARGIN;
  columns.forEach(({ size }, at) => {
    xs.push(right);
    right += size.width + Math.max(LEAST_GAP, LANE * (leaving[at]!.length + 1));
  });
  const entryX = ({ column, port }: Entry): number => xs[column]! + columns[column]!.ports[port]!.x;
  const tracks = tracksOf(
    sources.map(({ column, entries }) => {
      const all = entries.map(entryX);
      return { from: column === -1 ? Math.min(...all) : xs[column]! + columns[column]!.size.width, to: Math.max(...all) };
    }),
  );
  const count = Math.max(0, ...tracks.map((track) => track + 1));
  const y = top + LANE * (count + 1);
  const bottoms = columns.map(({ size }) => y + size.height);
  const gaps = new Map<number, Point>(); // of a source: x of its way up, y of its way to there
  leaving.forEach((own, at) => {
    const edge = xs[at]! + columns[at]!.size.width;
    // The lowest track is reached from the right, and the way to there is the lowest.
    [...own]
      .sort((a, b) => tracks[b]! - tracks[a]!)
      .forEach((source, order) => gaps.set(source, { x: edge + LANE * (order + 1), y: bottoms[at]! + LANE * order + 2 }));
  });
  const starts = sources.map(({ column, exit, entries }): Point => {
    if (column === -1) return { x: Math.min(...entries.map(entryX)), y: 0 };
    return { x: xs[column]! + columns[column]!.ports[exit]!.x, y: bottoms[column]! };
  });
  const ways = sources.map(({ column, entries }, i) =>
    entries.map((entry): readonly Point[] => {
      const [start, gap, x] = [starts[i]!, gaps.get(i), entryX(entry)];
      const track = y - LANE * (tracks[i]! + 1);
      const up = gap === undefined || column === -1 ? [] : [{ x: start.x, y: gap.y }, gap, { x: gap.x, y: track }];
      const across = column === -1 && x !== start.x ? [{ x: start.x, y: track }] : [];
      return [start, ...up, ...across, ...(x === start.x && column === -1 ? [] : [{ x, y: track }]), { x, y }];
    }),
  );
  const last = xs.at(-1)! + columns.at(-1)!.size.width;
  const low = Math.max(...bottoms.map((bottom, at) => bottom + LANE * leaving[at]!.length));
  return { size: { width: last + MARGIN, height: low + MARGIN }, offsets: xs.map((x) => ({ x, y })), starts, ways };
}

interface Span {
  readonly from: number;
  readonly to: number;
}

// The track of each span, counted upward from the columns, so that none overlap; short ones are low.
function tracksOf(spans: readonly Span[]): readonly number[] {
  const tracks = spans.map(() => -1);
  const taken: Span[][] = [];
  const order = spans.map((_, i) => i).sort((a, b) => lengthOf(spans[a]!) - lengthOf(spans[b]!) || a - b);
  for (const i of order) {
    const span = spans[i]!;
    if (!Number.isFinite(span.from) || !Number.isFinite(span.to)) continue; // it enters no column
    if (span.from === span.to) {
      tracks[i] = 0;
      continue;
    }
    let track = taken.findIndex((others) => others.every(({ from, to }) => to + LANE < span.from || span.to + LANE < from));
    if (track === -1) track = taken.push([]) - 1;
    taken[track]!.push(span);
    tracks[i] = track;
  }
  return tracks;
}

function lengthOf({ from, to }: Span): number {
  return to - from;
}
