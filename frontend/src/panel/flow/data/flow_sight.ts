// The positions of the parts of the heat map on the screen, and what lies at a point.

import type { Point, Rect, Size } from "../../../base/geometry";
import { coveredPx, headersAt, type Header, type Nesting } from "../../../model/flow/flow_headers";
import type { FlowRow } from "../../../model/flow/flow_rows";
import { rowAxis, toPx, unitAt, type Axis, type FlowWindow, type Span } from "../../../model/flow/flow_window";

export interface Sight {
  readonly columns: Axis;
  readonly rows: Axis;
  readonly line: Rect | undefined; // above the map, of a scalar
  readonly strip: Rect; // between the line and the map: findings, and marks over columns
  readonly pinned: Rect; // rows that stay; without any its height is 0
  readonly map: Rect; // the rows that are scrolled
  readonly headers: readonly Header[]; // of open groups, over the first rows
  readonly coveredPx: number; // how much of the map they cover
}

// What is at a point; -1 and undefined: nothing.
export interface Spot {
  readonly column: number;
  readonly row: FlowRow | undefined;
  readonly index: number; // among the rows that are scrolled
  readonly topPx: number | undefined; // where the row begins
}

export interface PointedCell extends Spot {
  readonly pointScreen: Point;
}

// A part of the map, in columns and rows.
export interface Selected {
  readonly columns: Span;
  readonly rows: Span;
}

const TOP_PX = 6;
const LINE_PX = [44, 86] as const; // its height: at least, at most
const LINE_PART = 0.2; // of the height
const STRIP_PX = 31;
export const PINNED_PX = 18; // height of a pinned row
const PINNED_GAP_PX = 3;
const TICKS_PX = 24;
const MOST_PINNED = 1 / 3; // of the height

interface Shown {
  readonly size: Size;
  readonly window: FlowWindow;
  readonly columns: Axis;
  readonly rows: readonly FlowRow[];
  readonly nesting: Nesting | undefined; // undefined: the rows are no tree
  readonly pinned: number;
  readonly head: Pick<Sight, "line" | "strip">;
}

// Above the rows. It does not change while rows are scrolled.
export function headOf({ width, height }: Size, withLine: boolean): Pick<Sight, "line" | "strip"> {
  const linePx = Math.round(Math.max(LINE_PX[0], Math.min(LINE_PX[1], LINE_PART * height)));
  return {
    line: withLine ? { x: 0, y: TOP_PX, width, height: linePx } : undefined,
    strip: { x: 0, y: withLine ? TOP_PX + linePx : 0, width, height: STRIP_PX },
  };
}

export function sightOf({ size: { width, height }, head: { line, strip }, window, columns, rows, nesting, pinned }: Shown): Sight {
  const y = strip.y + strip.height;
  const room = Math.max(0, height - y - TICKS_PX);
  const kept = Math.min(pinned, Math.floor((room * MOST_PINNED) / PINNED_PX));
  const above = kept === 0 ? 0 : kept * PINNED_PX + PINNED_GAP_PX;
  const map = { x: 0, y: y + above, width, height: room - above };
  const axis = rowAxis(window, rows.length, map.height);
  const headers = nesting === undefined ? [] : headersAt(rows, nesting, axis);
  return {
    columns,
    rows: axis,
    line,
    strip,
    pinned: { x: 0, y, width, height: kept * PINNED_PX },
    map,
    headers,
    coveredPx: coveredPx(headers, axis.unitPx),
  };
}

// Where a row begins; undefined: it is out of sight, or under a header.
export function rowTopPx({ rows, map, headers, coveredPx: covered }: Sight, row: number): number | undefined {
  const header = headers.find((one) => one.row === row);
  if (header !== undefined) return map.y + header.topPx;
  const top = toPx(rows, row);
  return row < 0 || top + rows.unitPx <= covered + 1 || top >= map.height ? undefined : map.y + top;
}

export function spotAt(sight: Sight, rows: readonly FlowRow[], pinned: readonly FlowRow[], { x, y }: Point): Spot {
  const column = unitAt(sight.columns, x);
  const at = Math.floor((y - sight.pinned.y) / PINNED_PX);
  if (y >= sight.pinned.y && y < sight.pinned.y + sight.pinned.height)
    return { column, row: pinned[at], index: -1, topPx: sight.pinned.y + at * PINNED_PX };
  const index = rowAt(sight, y);
  return { column, row: rows[index], index, topPx: rowTopPx(sight, index) };
}

// -1: above or below all rows.
export function rowAt({ rows, map, headers }: Sight, y: number): number {
  if (y < map.y || y >= map.y + map.height) return -1;
  const header = headers.find(({ topPx }) => y - map.y >= topPx && y - map.y < topPx + rows.unitPx);
  return header?.row ?? unitAt(rows, y - map.y);
}

// Pinned rows do not depend on the scrolled ones.
export function pinnedAxis({ pinned: { height } }: Sight): Axis {
  const count = height / PINNED_PX;
  return { from: 0, to: count, unitPx: PINNED_PX, count };
}
