// The line of a scalar above the heat map, on the same columns.

import type { Rect } from "../../base/geometry";
import { toPx, type Axis } from "../../model/flow/flow_window";
import type { ScalarSeries, ValueScale } from "../../model/flow/scalar_line";
import type { Theme } from "../style/theme";

export interface ScalarLine {
  readonly series: ScalarSeries;
  readonly positions: Float64Array; // of each point, in columns
  readonly scale: ValueScale | undefined; // undefined: no finite value
}

const POINTS_UP_TO = 60;
const EDGE_PX = 3;
const SPAN_ALPHA = 0.3;

interface Point {
  readonly x: number;
  readonly value: number;
}

export function paintScalar(
  context: CanvasRenderingContext2D,
  { series, positions, scale }: ScalarLine,
  columns: Axis,
  rect: Rect,
  theme: Theme,
): void {
  context.save();
  context.beginPath();
  context.rect(rect.x, rect.y, rect.width, rect.height);
  context.clip();
  const bottom = rect.y + rect.height - EDGE_PX;
  const yOf = (value: number): number => bottom - (scale?.position(value) ?? 0) * (rect.height - 2 * EDGE_PX);
  const xs = Array.from(positions, (position) => rect.x + toPx(columns, position));
  const inSight = xs
    .map((x, i) => ({ x, value: series.values[i]! }))
    .filter((_, i) => (xs[i + 1] ?? Infinity) >= rect.x && (xs[i - 1] ?? -Infinity) <= rect.x + rect.width);
  context.strokeStyle = context.fillStyle = theme.accent;
  context.lineWidth = 1.5;
  context.lineJoin = "round";
  context.beginPath();
  let broken = true;
  for (const { x, value } of inSight) {
    if (Number.isFinite(value)) broken ? context.moveTo(x, yOf(value)) : context.lineTo(x, yOf(value));
    broken = !Number.isFinite(value);
  }
  context.stroke();
  if (inSight.length <= POINTS_UP_TO) for (const { x, value } of inSight) if (Number.isFinite(value)) dot(context, x, yOf(value));
  shadeNonfinite(context, inSight, rect, theme);
  context.restore();
}

// A line where NaN or infinity begins, and one span over as many points as it lasts.
function shadeNonfinite(context: CanvasRenderingContext2D, points: readonly Point[], { y, height }: Rect, theme: Theme): void {
  context.fillStyle = theme.nonfinite;
  for (let from = 0; from < points.length; from++) {
    if (Number.isFinite(points[from]!.value)) continue;
    const left = points[from]!.x;
    while (from + 1 < points.length && !Number.isFinite(points[from + 1]!.value)) from++;
    context.fillRect(left - 1, y, 2, height);
    context.globalAlpha = SPAN_ALPHA;
    context.fillRect(left + 1, y, points[from]!.x - left, height);
    context.globalAlpha = 1;
  }
}

function dot(context: CanvasRenderingContext2D, x: number, y: number): void {
  context.beginPath();
  context.arc(x, y, 2, 0, 2 * Math.PI);
  context.fill();
}
