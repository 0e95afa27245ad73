// The line of a scalar above the heat map, on the same columns.

import type { Rect } from "../../base/geometry";
import { toPx, type Axis } from "../../model/flow/flow_window";
import type { ScalarSeries, ValueScale } from "../../model/flow/scalar_line";
import type { Theme } from "../style/theme";

export interface ScalarLine {
  readonly series: ScalarSeries;
  readonly positions: Float64Array; // of each point, in columns
  readonly scale: ValueScale | undefined; // undefined: no finite value
  readonly there?: LineThere | undefined;
}

// That of the other side of a comparison: of one run, or the median of several with their range.
export interface LineThere extends Pick<ScalarLine, "series" | "positions"> {
  readonly range: { readonly low: readonly number[]; readonly high: readonly number[] } | undefined;
}

const POINTS_UP_TO = 60;
const EDGE_PX = 3;
const SPAN_ALPHA = 0.3;
const RANGE_ALPHA = 0.16;
const DASHES = [5, 3];
const MARK_PX = 5;
const MOST_LINES = 3; // more marks have no line down
const APART_PX = 3;

interface Point {
  readonly x: number;
  readonly value: number;
}

export function paintScalar(
  context: CanvasRenderingContext2D,
  { series, positions, scale, there }: ScalarLine,
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
  const xOf = (position: number): number => rect.x + toPx(columns, position);
  if (there !== undefined) paintThere(context, there, xOf, yOf, theme);
  const xs = Array.from(positions, xOf);
  const inSight = xs
    .map((x, i) => ({ x, value: series.values[i]! }))
    .filter((_, i) => (xs[i + 1] ?? Infinity) >= rect.x && (xs[i - 1] ?? -Infinity) <= rect.x + rect.width);
  context.strokeStyle = context.fillStyle = theme.accent;
  context.lineWidth = 1.5;
  context.lineJoin = "round";
  strokeLine(context, inSight, yOf);
  if (inSight.length <= POINTS_UP_TO) for (const { x, value } of inSight) if (Number.isFinite(value)) dot(context, x, yOf(value));
  markNonfinite(context, inSight, rect, theme);
  context.restore();
}

// NaN and infinity are gaps.
function strokeLine(context: CanvasRenderingContext2D, points: readonly Point[], yOf: (value: number) => number): void {
  context.beginPath();
  let broken = true;
  for (const { x, value } of points) {
    if (Number.isFinite(value)) broken ? context.moveTo(x, yOf(value)) : context.lineTo(x, yOf(value));
    broken = !Number.isFinite(value);
  }
  context.stroke();
}

// Dashed and in a soft color, on the band of a range.
function paintThere(
  context: CanvasRenderingContext2D,
  { series, positions, range }: LineThere,
  xOf: (position: number) => number,
  yOf: (value: number) => number,
  theme: Theme,
): void {
  const xs = Array.from(positions, xOf);
  context.strokeStyle = context.fillStyle = theme.inkSoft;
  if (range !== undefined) {
    context.beginPath();
    xs.forEach((x, i) => context.lineTo(x, yOf(range.high[i]!)));
    for (let i = xs.length - 1; i >= 0; i--) context.lineTo(xs[i]!, yOf(range.low[i]!));
    context.globalAlpha = RANGE_ALPHA;
    context.fill();
    context.globalAlpha = 1;
  }
  context.lineWidth = 1.5;
  context.setLineDash(DASHES);
  strokeLine(
    context,
    xs.map((x, i) => ({ x, value: series.values[i]! })),
    yOf,
  );
  context.setLineDash([]);
}

// A mark at the top as long as NaN or infinity lasts. Below a few of them a line and a tint lead down to
// the cells; many would hide the curve.
function markNonfinite(context: CanvasRenderingContext2D, points: readonly Point[], { y, height }: Rect, theme: Theme): void {
  context.fillStyle = theme.nonfinite;
  const spans = nonfiniteSpans(points);
  for (const [left, right] of spans) {
    context.fillRect(left - 1, y, right - left + 2, MARK_PX);
    if (spans.length > MOST_LINES) continue;
    context.fillRect(left - 1, y, 2, height);
    context.globalAlpha = SPAN_ALPHA;
    context.fillRect(left + 1, y, right - left, height);
    context.globalAlpha = 1;
  }
}

// From the first to the last of neighbors. Spans closer than a mark are one.
function nonfiniteSpans(points: readonly Point[]): readonly (readonly [number, number])[] {
  const spans: [number, number][] = [];
  points.forEach(({ x, value }, i) => {
    if (Number.isFinite(value)) return;
    const last = spans.at(-1);
    const lasts = i > 0 && !Number.isFinite(points[i - 1]!.value);
    if (last !== undefined && (lasts || x - last[1] < APART_PX)) last[1] = x;
    else spans.push([x, x]);
  });
  return spans;
}

function dot(context: CanvasRenderingContext2D, x: number, y: number): void {
  context.beginPath();
  context.arc(x, y, 2, 0, 2 * Math.PI);
  context.fill();
}
