// The selection of a drag: over cells a part of the map, elsewhere a span of steps.

import type { Point, Rect } from "../../base/geometry";
import { fromPx, toPx, unitsBetween } from "../../model/flow/flow_window";
import { rowAt, type Selected, type Sight } from "./data/flow_sight";

// Where a drag began, in units, because the map can be scrolled during it.
export interface Grip {
  readonly from: Point;
  readonly column: number; // with its fraction
  readonly row: number; // -1: beside the rows
}

export function grip(sight: Sight, from: Point): Grip {
  return { from, column: fromPx(sight.columns, from.x), row: rowAt(sight, from.y) };
}

// In whole cells.
export function brushedCells({ column, row }: Grip, last: Point, sight: Sight): Selected {
  const { columns, rows, map } = sight;
  const inside = Math.max(map.y, Math.min(map.y + map.height - 1, last.y));
  const found = rowAt(sight, inside);
  const other = found === -1 ? rows.count - 1 : found;
  return { columns: unitsBetween(columns, toPx(columns, column), last.x), rows: [Math.min(row, other), Math.max(row, other) + 1] };
}

export function brushOf(held: Grip, last: Point, sight: Sight): Rect {
  const { columns, rows, map, strip } = sight;
  if (held.row === -1) {
    const [left, right] = [held.from.x, last.x].sort((a, b) => a - b) as [number, number];
    const y = strip.y + strip.height;
    const x = Math.max(0, left);
    return { x, y, width: Math.min(map.width, right) - x, height: map.y + map.height - y };
  }
  const cells = brushedCells(held, last, sight);
  const x = toPx(columns, cells.columns[0]);
  const y = map.y + toPx(rows, cells.rows[0]);
  return { x, y, width: toPx(columns, cells.columns[1]) - x, height: map.y + toPx(rows, cells.rows[1]) - y };
}
