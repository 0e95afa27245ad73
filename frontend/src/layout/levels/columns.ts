// Puts the columns of a level next to each other, to be read from the left to the right. In each,
// the data runs down. A line to a later column leaves its own at the lower end, goes up beside it,
// along a track above the columns, and down into the other.

import type { Point, Rect, Size } from "../../base/geometry";
import { LANE, tracksOf, type Span } from "./tracks";

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
  readonly low: boolean; // the line goes there below the columns, not above them
}

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
  const highOf = ({ entries }: Source): readonly Entry[] => entries.filter(({ low }) => !low);
  const lows = sources.flatMap(({ entries }, source) => entries.filter(({ low }) => low).map((entry) => ({ source, entry })));
  const leaving = columns.map((_, at) => sources.flatMap((source, i) => (source.column === at && highOf(source).length > 0 ? [i] : [])));
  const rising = columns.map((_, at) => lows.filter(({ entry }) => entry.column === at + 1));
  const xs: number[] = [];
  let right = MARGIN;
  columns.forEach(({ size }, at) => {
    xs.push(right);
    right += size.width + Math.max(LEAST_GAP, LANE * (leaving[at]!.length + rising[at]!.length + 1));
  });
  const rightOf = (column: number): number => xs[column]! + columns[column]!.size.width;
  const entryX = ({ column, port }: Entry): number => xs[column]! + columns[column]!.ports[port]!.x;
  const rises = lows.map((one) => {
    const column = one.entry.column - 1;
    return rightOf(column) + LANE * (leaving[column]!.length + rising[column]!.indexOf(one) + 1);
  });
  const tracks = tracksOf([
    ...sources.map((source) => spanOf(source.column === -1 ? undefined : rightOf(source.column), highOf(source).map(entryX))),
    ...lows.map(({ entry }, i) => spanOf(rises[i]!, [entryX(entry)])),
  ]);
  const count = Math.max(0, ...tracks.map((track) => track + 1));
  const y = top + LANE * (count + 1);
  const bottoms = columns.map(({ size }) => y + size.height);
  const gaps = new Map<number, Point>(); // of a source: x of its way up, y of its way to there
  leaving.forEach((own, at) => {
    // The lowest track is reached from the right, and the way to there is the lowest.
    [...own]
      .sort((a, b) => tracks[b]! - tracks[a]!)
      .forEach((source, order) => gaps.set(source, { x: rightOf(at) + LANE * (order + 1), y: bottoms[at]! + LANE * order + 2 }));
  });
  const starts = sources.map((source): Point => {
    const { column, exit } = source;
    if (column === -1) return { x: Math.min(...source.entries.map(entryX)), y: 0 };
    return { x: xs[column]! + columns[column]!.ports[exit]!.x, y: bottoms[column]! };
  });
  const floor = Math.max(...bottoms.map((bottom, at) => bottom + LANE * leaving[at]!.length));
  const ground = tracksOf(lows.map(({ source }, i) => spanOf(starts[source]!.x, [rises[i]!])));
  const ways = sources.map((source, i) =>
    source.entries.map((entry): readonly Point[] => {
      const [start, gap, x] = [starts[i]!, gaps.get(i), entryX(entry)];
      const low = lows.findIndex((one) => one.entry === entry);
      const track = y - LANE * (tracks[low === -1 ? i : sources.length + low]! + 1);
      const end = [
        { x, y: track },
        { x, y },
      ];
      if (low !== -1) {
        const below = floor + LANE * (ground[low]! + 1);
        return [start, { x: start.x, y: below }, { x: rises[low]!, y: below }, { x: rises[low]!, y: track }, ...end];
      }
      if (source.column === -1) return x === start.x ? [start, end[1]!] : [start, { x: start.x, y: track }, ...end];
      return [start, { x: start.x, y: gap!.y }, gap!, { x: gap!.x, y: track }, ...end];
    }),
  );
  const height = floor + LANE * Math.max(0, ...ground.map((track) => track + 1)) + MARGIN;
  return { size: { width: rightOf(columns.length - 1) + MARGIN, height }, offsets: xs.map((x) => ({ x, y })), starts, ways };
}

// `from`: where a line comes up to its track; undefined: it comes down to it, at the first of its ends.
function spanOf(from: number | undefined, down: readonly number[]): Span {
  const [first, to] = [Math.min(...down), Math.max(...down)];
  return from === undefined ? { from: first, to, above: [first], below: down } : { from, to, above: [], below: [from, ...down] };
}
