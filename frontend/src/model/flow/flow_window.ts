// The visible part of the heat map, and the arithmetic of moving it. Units are columns and rows.

export type Span = readonly [number, number]; // from, to (not included)

export interface FlowWindow {
  readonly columns: Span | undefined; // undefined: everything, also columns that are added later
  readonly top: number; // rows that are scrolled off
  readonly rowPx: number | undefined; // undefined: as high as all rows allow, within limits
}

export const EVERYTHING: FlowWindow = { columns: undefined, top: 0, rowPx: undefined };

const WIDEST_COLUMN_PX = 120;
const LEAST_COLUMNS = 4;
// Every row in sight is high enough for its name.
export const LOWEST_ROW_PX = 14;
const ROW_PX = 18;
const HIGHEST_ROW_PX = 26;

// One direction on the screen: units are `unitPx` long, and the first visible one is `from`.
export interface Axis {
  readonly from: number;
  readonly to: number;
  readonly unitPx: number;
  readonly count: number;
}

export function columnAxis(span: Span | undefined, count: number, widthPx: number): Axis {
  const least = Math.min(count, widthPx / WIDEST_COLUMN_PX);
  const [from, to] = clampSpan(span ?? [0, count], count, least);
  return { from, to, unitPx: Math.min(WIDEST_COLUMN_PX, widthPx / Math.max(1e-9, to - from)), count };
}

// Rows that do not fit are scrolled, not shrunk.
export function rowAxis({ top, rowPx }: Pick<FlowWindow, "top" | "rowPx">, count: number, heightPx: number): Axis {
  const unitPx = rowPx ?? between(ROW_PX, heightPx / Math.max(1, count), HIGHEST_ROW_PX);
  const fit = heightPx / unitPx;
  const from = between(0, top, Math.max(0, count - fit));
  return { from, to: Math.min(count, from + fit), unitPx, count };
}

function between(low: number, value: number, high: number): number {
  return Math.max(low, Math.min(high, value));
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
export function unitsBetween(axis: Axis, onePx: number, otherPx: number): Span {
  const [low, high] = [Math.min(onePx, otherPx), Math.max(onePx, otherPx)];
  const from = between(0, Math.floor(fromPx(axis, low)), axis.count - 1);
  const to = Math.min(axis.count, Math.floor(fromPx(axis, high)) + 1);
  return [from, Math.max(from + 1, to)];
}

export function brushSpan(axis: Axis, onePx: number, otherPx: number): Span | undefined {
  return orAll(unitsBetween(axis, onePx, otherPx), axis.count);
}

// Moves as little as needed to make a unit visible; undefined if it is visible.
export function seekSpan(axis: Axis, unit: number): Span | undefined {
  const by = unit < axis.from ? unit - axis.from : unit + 1 > axis.to ? unit + 1 - axis.to : 0;
  return Math.abs(by) < 1e-6 ? undefined : [axis.from + by, axis.to + by];
}

// The same for a row, which must not be under the headers of the groups around it.
export function seekTop(axis: Axis, row: number, headers: number): number | undefined {
  if (row - headers < axis.from - 1e-6) return Math.max(0, row - headers);
  const by = row + 1 - axis.to;
  return by > 1e-6 ? axis.from + by : undefined;
}

export function clampTop({ from, to, count }: Axis, by: number): number {
  return between(0, from + by, Math.max(0, count - (to - from)));
}

// Rows of another height; the row `around` stays where it is.
export function scaleRows(axis: Axis, factor: number, around: number): Pick<FlowWindow, "top" | "rowPx"> {
  const rowPx = between(LOWEST_ROW_PX, axis.unitPx * factor, HIGHEST_ROW_PX);
  return { rowPx, top: Math.max(0, around - ((around - axis.from) * axis.unitPx) / rowPx) };
}

// The rows of which at least a part is in sight.
export function rowsInSight({ from, to, count }: Axis): readonly number[] {
  const first = Math.max(0, Math.floor(from + 1e-6));
  return Array.from({ length: Math.max(0, Math.min(count, Math.ceil(to - 1e-6)) - first) }, (_, i) => first + i);
}
