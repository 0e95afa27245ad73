// The selection of a drag over the heat map: a span of steps, of rows, or both.

import type { Point, Rect } from "../../base/geometry";
import { brushSpan, type FlowWindow } from "../../model/flow/flow_window";
import type { Sight } from "./flow_data";

// If a drag is shorter than this in one direction, it selects only in the other.
const STRAIGHT_PX = 14;

// As wide as the map if only rows are selected, and as high if only steps are. The line above has only steps.
export function brushRect(from: Point, to: Point, map: Rect): Rect {
  const [left, right] = sorted(from.x, to.x, 0, map.width);
  const [top, bottom] = sorted(from.y, to.y, map.y, map.y + map.height);
  const tall = from.y >= map.y && bottom - top >= STRAIGHT_PX;
  const wide = right - left >= STRAIGHT_PX || !tall;
  return { x: wide ? left : 0, width: wide ? right - left : map.width, y: tall ? top : map.y, height: tall ? bottom - top : map.height };
}

export function brushedWindow(brush: Rect, { columns, rows, map }: Sight, now: FlowWindow): FlowWindow {
  const [right, bottom] = [brush.x + brush.width, brush.y + brush.height - map.y];
  return {
    columns: brush.width < map.width ? brushSpan(columns, brush.x, right) : now.columns,
    rows: brush.height < map.height ? brushSpan(rows, brush.y - map.y, bottom) : now.rows,
  };
}

function sorted(one: number, other: number, low: number, high: number): readonly [number, number] {
  const [a, b] = [one, other].map((value) => Math.max(low, Math.min(high, value))) as [number, number];
  return a < b ? [a, b] : [b, a];
}
