// Breaks a level that is much higher than wide into columns. ELK's own wrapping leaves most of the
// area empty if boxes are large.

import type { Point, Rect, Size } from "../base/geometry";

export interface Tall {
  readonly size: Size;
  readonly ports: readonly Point[]; // at the top or at the bottom
  readonly rects: readonly Rect[];
  readonly paths: readonly (readonly Point[])[]; // orthogonal
}

// A level is too slender if it is this many times as high as wide, and at least this high.
const SLENDER = 3;
const HIGH = 2500;
const ASPECT = 1.4;
const LANE = 12;
const MARGIN = 16;
// Edges have no bend within this distance above a box.
const CLEAR = 7;

interface Column {
  readonly dx: number;
  readonly dy: number;
  readonly crossings: readonly number[]; // x of the edges that leave it at its lower end, from the left
  readonly right: number; // where it ends, in its new place
  readonly bottom: number;
}

// `top`: room for the title. Precondition: just above a box, the edges from boxes above it run straight down.
export function intoColumns(tall: Tall, top: number): Tall {
  const { width, height } = tall.size;
  if (height < HIGH || height < SLENDER * width) return tall;
  const cuts = cutsOf(tall.rects, height, Math.max(2, Math.round(Math.sqrt((ASPECT * height) / width))));
  const columns = columnsOf(tall, cuts, top);
  const last = columns.at(-1)!;
  const size = {
    width: Math.max(...columns.map(({ right }) => right)) + MARGIN,
    height: Math.max(...columns.map(({ bottom, crossings }) => bottom + LANE * (crossings.length + 1))) + MARGIN,
  };
  const at = (y: number): Column => columns[columnAt(cuts, y)]!;
  return {
    size,
    rects: tall.rects.map((rect) => ({ ...rect, x: rect.x + at(rect.y).dx, y: rect.y + at(rect.y).dy })),
    ports: tall.ports.map(({ x, y }) => (y < height / 2 ? { x: x + columns[0]!.dx, y } : { x: x + last.dx, y: size.height })),
    paths: tall.paths.map((path) => moved(path, cuts, columns, (y) => (y >= height ? size.height - last.dy : y))),
  };
}

function columnAt(cuts: readonly number[], y: number): number {
  let column = 0;
  while (column < cuts.length && y > cuts[column]!) column++;
  return column;
}

// At places without a box, in nearly equal parts.
function cutsOf(rects: readonly Rect[], height: number, parts: number): readonly number[] {
  const free: number[] = [];
  let bottom = Infinity;
  for (const { y, height: own } of [...rects].sort((a, b) => a.y - b.y)) {
    if (y > bottom) free.push(y - CLEAR);
    bottom = Math.max(bottom === Infinity ? -Infinity : bottom, y + own);
  }
  const cuts = new Set<number>();
  for (let part = 1; part < parts && free.length > 0; part++) {
    const wanted = (part * height) / parts;
    cuts.add(free.reduce((best, y) => (Math.abs(y - wanted) < Math.abs(best - wanted) ? y : best)));
  }
  return [...cuts].sort((a, b) => a - b);
}

function columnsOf({ rects, paths, size }: Tall, cuts: readonly number[], top: number): readonly Column[] {
  const crossings = cuts.map((cut) => [...new Set(paths.flatMap((path) => crossingsAt(path, cut)))].sort((a, b) => a - b));
  const start = top + LANE * (1 + Math.max(0, ...crossings.map(({ length }) => length)));
  const columns: Column[] = [];
  for (let column = 0; column <= cuts.length; column++) {
    const [low, high] = [cuts[column - 1] ?? -Infinity, cuts[column] ?? Infinity];
    const within = paths
      .flat()
      .filter(({ y }) => y > low && y <= high)
      .map(({ x }) => x);
    const own = rects.filter(({ y }) => y > low && y <= high);
    const xs = [...within, ...(crossings[column] ?? []), ...(crossings[column - 1] ?? [])];
    const left = xs.concat(own.map(({ x }) => x)).reduce((least, x) => Math.min(least, x), Infinity);
    const right = xs.concat(own.map(({ x, width }) => x + width)).reduce((most, x) => Math.max(most, x), -Infinity);
    const before = columns.at(-1);
    const dx = before === undefined ? MARGIN - left : before.right + LANE * (before.crossings.length + 2) - left;
    const dy = before === undefined ? 0 : start - cuts[column - 1]!;
    columns.push({ dx, dy, crossings: crossings[column] ?? [], right: right + dx, bottom: (cuts[column] ?? size.height - MARGIN) + dy });
  }
  return columns;
}

function crossingsAt(path: readonly Point[], cut: number): readonly number[] {
  return path.flatMap(({ x, y }, i) => (i > 0 && path[i - 1]!.y > cut !== y > cut ? [x] : []));
}

function moved(
  path: readonly Point[],
  cuts: readonly number[],
  columns: readonly Column[],
  lower: (y: number) => number,
): readonly Point[] {
  return path.flatMap(({ x, y }, i) => {
    const now = columnAt(cuts, y);
    const points: Point[] = [];
    for (let at = i === 0 ? now : columnAt(cuts, path[i - 1]!.y); at !== now; at += Math.sign(now - at)) {
      const down = now > at;
      const detour = detourBetween(columns, cuts, down ? at : at - 1, x);
      points.push(...(down ? detour : [...detour].reverse()));
    }
    return [...points, { x: x + columns[now]!.dx, y: lower(y) + columns[now]!.dy }];
  });
}

// From the lower end of a column to the upper end of the next, so that edges do not cross there.
function detourBetween(columns: readonly Column[], cuts: readonly number[], column: number, x: number): readonly Point[] {
  const [from, to] = [columns[column]!, columns[column + 1]!];
  const order = from.crossings.indexOf(x);
  const outer = LANE * (from.crossings.length - order);
  const [below, beside, above] = [from.bottom + outer, from.right + outer, cuts[column]! + to.dy - LANE * (order + 1)];
  return [
    { x: x + from.dx, y: below },
    { x: beside, y: below },
    { x: beside, y: above },
    { x: x + to.dx, y: above },
  ];
}
