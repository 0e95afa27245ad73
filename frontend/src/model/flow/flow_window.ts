// The visible part of the heat map, and the arithmetic of moving it. Units are columns and rows.

export type Span = readonly [number, number]; // from, to (not included)

// Undefined: everything, also columns that are added later.
export interface FlowWindow {
  readonly columns: Span | undefined;
  readonly rows: Span | undefined;
}

export const EVERYTHING: FlowWindow = { columns: undefined, rows: undefined };

const WIDEST_COLUMN_PX = 120;
const HIGHEST_ROW_PX = 26;
const LEAST_COLUMNS = 4;
export const LABEL_PX = 13;

// One direction on the screen: units are `unitPx` long, and the first visible one is `from`.
export interface Axis {
  readonly from: number;
  readonly to: number;
  readonly unitPx: number;
  readonly count: number;
}

export function columnAxis(span: Span | undefined, count: number, widthPx: number): Axis {
  return axisOf(span, count, widthPx, WIDEST_COLUMN_PX);
}

export function rowAxis(span: Span | undefined, count: number, heightPx: number): Axis {
  return axisOf(span, count, heightPx, HIGHEST_ROW_PX);
}

function axisOf(span: Span | undefined, count: number, lengthPx: number, mostPx: number): Axis {
  const least = Math.min(count, lengthPx / mostPx);
  const [from, to] = clampSpan(span ?? [0, count], count, least);
  return { from, to, unitPx: Math.min(mostPx, lengthPx / Math.max(1e-9, to - from)), count };
}

export const toPx = (axis: Axis, position: number): number => (position - axis.from) * axis.unitPx;
export const fromPx = (axis: Axis, px: number): number => axis.from + px / axis.unitPx;

// The unit under a pixel, or -1 outside all units.
export function unitAt(axis: Axis, px: number): number {
  const unit = Math.floor(fromPx(axis, px));
  return unit >= 0 && unit < axis.count && px >= 0 ? unit : -1;
}

// At least `least` long, inside 0..count.
function clampSpan([from, to]: Span, count: number, least: number): Span {
  const length = Math.min(count, Math.max(to - from, least));
  const middle = (from + to) / 2;
  const start = Math.max(0, Math.min(count - length, to - from < length ? middle - length / 2 : from));
  return [start, start + length];
}

function orAll(span: Span, count: number): Span | undefined {
  return span[0] <= 1e-9 && span[1] >= count - 1e-9 ? undefined : span;
}

// A `factor` above 1 shows less. The point `around` does not move.
export function zoomSpan({ from, to, count }: Axis, factor: number, around: number): Span | undefined {
  const length = Math.max(Math.min(LEAST_COLUMNS, count), (to - from) / factor);
  const part = (around - from) / Math.max(1e-9, to - from);
  const start = around - part * length;
  return orAll(clampSpan([start, start + length], count, length), count);
}

export function panSpan({ from, to, count }: Axis, by: number): Span | undefined {
  return orAll(clampSpan([from + by, to + by], count, to - from), count);
}

// The whole units that a drag selected, in either direction.
export function brushSpan(axis: Axis, onePx: number, otherPx: number): Span | undefined {
  const [low, high] = [Math.min(onePx, otherPx), Math.max(onePx, otherPx)];
  const from = Math.max(0, Math.floor(fromPx(axis, low)));
  const to = Math.min(axis.count, Math.floor(fromPx(axis, high)) + 1);
  return orAll([from, Math.max(from + 1, to)], axis.count);
}

// Moves as little as needed to make a unit visible; undefined if it is visible.
export function seekSpan(axis: Axis, unit: number): Span | undefined {
  const by = unit < axis.from ? unit - axis.from : unit + 1 > axis.to ? unit + 1 - axis.to : 0;
  return Math.abs(by) < 1e-6 ? undefined : [axis.from + by, axis.to + by];
}

// The middle of the name of a row: the middle of the row, but within the map.
export function namePx(axis: Axis, row: number, roomPx: number): number {
  const middle = toPx(axis, row + 0.5);
  return axis.unitPx >= LABEL_PX ? middle : Math.max(LABEL_PX / 2, Math.min(roomPx - LABEL_PX / 2, middle));
}

// The rows whose names fit: all, or if they are too close together, those with the lowest rank first.
export function rowsWithNames(ranks: readonly number[], axis: Axis, first: number): readonly number[] {
  const low = Math.max(0, Math.floor(axis.from));
  const high = Math.min(axis.count, Math.ceil(axis.to));
  const inSight = Array.from({ length: Math.max(0, high - low) }, (_, i) => low + i);
  if (axis.unitPx >= LABEL_PX - 1.5) return inSight;
  const taken = new Map<number, number>();
  const chosen: number[] = [];
  const roomPx = (axis.to - axis.from) * axis.unitPx;
  const place = (row: number): void => {
    const y = namePx(axis, row, roomPx);
    const slot = Math.floor(y / LABEL_PX);
    const near = [slot - 1, slot, slot + 1].map((one) => taken.get(one));
    if (near.some((other) => other !== undefined && Math.abs(other - y) < LABEL_PX)) return;
    taken.set(slot, y);
    chosen.push(row);
  };
  if (first >= low && first < high) place(first);
  for (const row of inSight.sort((a, b) => ranks[a]! - ranks[b]! || a - b)) place(row);
  return chosen.sort((a, b) => a - b);
}
