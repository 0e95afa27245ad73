// Paints over the heat map: the chosen step and row, the cell under the pointer, a selection that
// is being dragged, and the step numbers.

import { formatCount } from "../../base/format";
import type { Rect } from "../../base/geometry";
import { toPx, type Axis, type Span } from "../../model/flow/flow_window";
import { columnTicks, positionOf } from "../../model/recorded/step_axis";
import { inkOn } from "../style/color_scale";
import { DETAIL_FONT } from "../style/text";
import type { Theme } from "../style/theme";

export interface Overlay {
  readonly columns: Axis;
  readonly rows: Axis;
  readonly map: Rect; // the rows that are scrolled
  readonly coveredPx: number; // how much of them is under headers
  readonly top: number; // where all rows begin
  readonly whole: Rect; // all rows with the line above them
  readonly steps: readonly number[];
  readonly bad: Iterable<number>; // steps with NaN or infinity
  readonly step: number | undefined; // place of the chosen step, in columns
  readonly shown: number; // its number
  readonly row: number | undefined; // where the chosen row begins
  readonly selection: { readonly columns: Span; readonly rows: Span } | undefined; // the chosen cells
  readonly pointed: { readonly column: number; readonly topPx: number | undefined } | undefined;
  readonly brush: Rect | undefined; // of a drag
}

const TICK_ROOM_PX = 64;
const THIN_PX = 5;
const BAD_PX = 5; // height of a mark over a column

export function paintOverlay(context: CanvasRenderingContext2D, overlay: Overlay, theme: Theme): void {
  const { columns, rows, map, whole, pointed, row } = overlay;
  context.save();
  context.beginPath();
  context.rect(whole.x, whole.y, whole.width, whole.height);
  context.clip();
  if (pointed !== undefined) {
    context.strokeStyle = theme.inkSoft;
    context.lineWidth = 1;
    if (pointed.column !== -1) frameColumn(context, columns, pointed.column + 0.5, whole);
    if (pointed.topPx !== undefined) frameRow(context, pointed.topPx, rows.unitPx, map);
  }
  if (row !== undefined) {
    context.strokeStyle = theme.accent;
    context.lineWidth = 2;
    frameRow(context, row, rows.unitPx, map);
  }
  if (overlay.step !== undefined) {
    context.strokeStyle = theme.root;
    context.lineWidth = columns.unitPx >= THIN_PX ? 2 : 1;
    frameColumn(context, columns, overlay.step, whole);
  }
  paintAreas(context, overlay, theme);
  context.restore();
  paintBad(context, overlay, theme);
  paintTicks(context, overlay, theme);
}

// The chosen cells are framed. Those of a drag are tinted too.
function paintAreas(context: CanvasRenderingContext2D, { columns, rows, map, coveredPx, selection, brush }: Overlay, theme: Theme): void {
  if (brush !== undefined) paintBrush(context, brush, theme);
  else if (selection !== undefined) {
    const [left, right] = selection.columns.map((column) => toPx(columns, column)) as [number, number];
    const [top, bottom] = selection.rows.map((row) => map.y + toPx(rows, row)) as [number, number];
    context.beginPath();
    context.rect(map.x, map.y + coveredPx, map.width, map.height - coveredPx);
    context.clip();
    context.strokeStyle = theme.background;
    context.lineWidth = 4;
    context.strokeRect(map.x + left, top, right - left, bottom - top);
    context.strokeStyle = theme.accent;
    context.lineWidth = 2;
    context.strokeRect(map.x + left, top, right - left, bottom - top);
  }
}

// The mark is around the cells, not over them. A narrow column is marked by one line.
function frameColumn(context: CanvasRenderingContext2D, columns: Axis, middle: number, { x, y, width: whole, height }: Rect): void {
  const width = columns.unitPx;
  const left = x + toPx(columns, middle) - width / 2;
  if (width >= THIN_PX) {
    // At the edge of the map the sides of the frame stay visible.
    const [from, to] = [Math.max(x + 1, left - 1.5), Math.min(x + whole - 1, left + width + 0.5)];
    return context.strokeRect(from, y - 2, to - from, height + 4);
  }
  const beside = Math.floor(left) - 0.5; // the column itself stays visible
  context.beginPath();
  context.moveTo(beside, y);
  context.lineTo(beside, y + height);
  context.stroke();
}

function frameRow(context: CanvasRenderingContext2D, top: number, rowPx: number, { x, width }: Rect): void {
  context.strokeRect(x - 2, top - 1.5, width + 4, Math.max(2, rowPx) + 2);
}

function paintBrush(context: CanvasRenderingContext2D, { x, y, width, height }: Rect, theme: Theme): void {
  context.fillStyle = theme.accent;
  context.globalAlpha = 0.18;
  context.fillRect(x, y, width, height);
  context.globalAlpha = 1;
  context.strokeStyle = theme.accent;
  context.lineWidth = 1.5;
  context.strokeRect(x, y, width, height);
}

// At the top of columns, even if the cells show a pass of the step without NaN. Neighbors have one bar.
function paintBad(context: CanvasRenderingContext2D, { columns, map, top, steps, bad }: Overlay, theme: Theme): void {
  if (steps.length === 0) return;
  const width = Math.max(3, Math.min(columns.unitPx - 1, 12));
  context.fillStyle = theme.nonfinite;
  const put = (from: number, to: number): void => {
    const [left, right] = [Math.max(0, toPx(columns, from)), Math.min(map.width, toPx(columns, to))];
    if (left <= right) context.fillRect(map.x + left - width / 2, top - BAD_PX - 1, right - left + width, BAD_PX);
  };
  let span: [number, number] | undefined;
  for (const step of bad) {
    const at = positionOf(steps, step);
    if (span !== undefined && at - span[1] < 1.01) span[1] = at;
    else {
      if (span !== undefined) put(...span);
      span = [at, at];
    }
  }
  if (span !== undefined) put(...span);
}

function paintTicks(context: CanvasRenderingContext2D, { columns, map, steps, step, shown }: Overlay, theme: Theme): void {
  context.font = DETAIL_FONT;
  context.textBaseline = "top";
  context.textAlign = "center";
  context.fillStyle = theme.inkSoft;
  const bottom = map.y + map.height;
  const plate = step === undefined ? -Infinity : map.x + toPx(columns, step);
  const room = context.measureText(formatCount(shown)).width / 2 + 8;
  for (const column of columnTicks(columns.from, columns.to, columns.count, columns.unitPx, TICK_ROOM_PX)) {
    const x = map.x + toPx(columns, column + 0.5);
    context.fillRect(x - 0.5, bottom + 1, 1, 4);
    const text = formatCount(steps[column]!);
    const half = context.measureText(text).width / 2;
    if (Math.abs(x - plate) < room + half) continue;
    context.fillText(text, Math.max(map.x + half, Math.min(map.x + map.width - half, x)), bottom + 7);
  }
  if (step !== undefined) paintChosen(context, toPx(columns, step), map, shown, theme);
  context.textAlign = "start";
}

// The number of the chosen step, on a plate among the other numbers.
function paintChosen(context: CanvasRenderingContext2D, atPx: number, map: Rect, step: number, theme: Theme): void {
  if (atPx < 0 || atPx > map.width) return;
  const text = formatCount(step);
  const half = context.measureText(text).width / 2 + 5;
  const x = Math.max(map.x + half, Math.min(map.x + map.width - half, map.x + atPx));
  const top = map.y + map.height + 3;
  context.fillStyle = theme.root;
  context.beginPath();
  context.roundRect(x - half, top + 1, 2 * half, 17, 4);
  context.fill();
  context.fillStyle = inkOn(theme.root, theme);
  context.fillText(text, x, top + 4);
}
