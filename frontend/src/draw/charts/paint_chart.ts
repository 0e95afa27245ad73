// Paints a chart that can be saved: lines over steps with axes, names and the mark of the step, as paths and text.

import { formatNumber } from "../../base/format";
import type { Rect, Size } from "../../base/geometry";
import { evenTicks, logTicks } from "../../model/charts/log_ticks";
import { smooth } from "../../model/charts/smoothing";
import { DETAIL_FONT, fitText, TITLE_FONT, widthOf } from "../style/text";
import type { Theme } from "../style/theme";
import type { ChartLine } from "./chart_line";
import { FLOOR_PX, FLOOR_ROOM_PX, markedSteps, nonfiniteText, paintMarks } from "./chart_marks";

export interface DrawnChart {
  readonly title: string; // what its numbers mean
  readonly of: string; // run and graph
  readonly lines: readonly ChartLine[];
  readonly log: boolean;
  readonly step: number | undefined; // the marked step
  readonly smoothing: number;
}

export const FEW_POINTS = 60; // up to this many points, each is marked
export const THIN_PX = 1.5;

const WIDTH_PX = 960;
const PLOT: Rect = { x: 72, y: 44, width: WIDTH_PX - 72 - 24, height: 380 };
const KEY_PX = 20;
const NAME_PX = WIDTH_PX - 2 * 16 - 26;
const TICK_PX = 48;

interface Axes {
  readonly x: (step: number) => number;
  readonly y: (value: number) => number;
  readonly steps: readonly number[];
  readonly values: readonly number[];
  readonly floor: number | undefined; // of zeros
}

export function chartSize({ lines, log }: DrawnChart): Size {
  const { zeros, nonfinite } = markedSteps(lines, log);
  const rows = lines.length + (zeros.length + nonfinite.length > 0 ? 1 : 0);
  return { width: WIDTH_PX, height: PLOT.y + PLOT.height + 36 + KEY_PX * rows + 8 };
}

export function paintChart(context: CanvasRenderingContext2D, chart: DrawnChart, theme: Theme): void {
  const { width, height } = chartSize(chart);
  context.fillStyle = theme.surface;
  context.fillRect(0, 0, width, height);
  context.textBaseline = "middle";
  context.textAlign = "left";
  write(context, fitText(chart.title, TITLE_FONT, PLOT.width * 0.6), TITLE_FONT, theme.ink, 16, 20);
  const of = fitText(chart.of, DETAIL_FONT, PLOT.width * 0.35);
  write(context, of, DETAIL_FONT, theme.inkSoft, width - 24 - widthOf(of, DETAIL_FONT), 20);
  const axes = axesOf(chart);
  paintAxes(context, axes, theme);
  if (chart.step !== undefined)
    stroke(
      context,
      [
        [axes.x(chart.step), PLOT.y],
        [axes.x(chart.step), PLOT.y + PLOT.height],
      ],
      theme.root,
      1,
      [],
    );
  for (const line of chart.lines) paintLine(context, chart, line, axes);
  paintMarks(context, chart.lines, chart.log, { x: axes.x, top: PLOT.y, floor: axes.floor ?? 0, pixel: 1 }, theme);
  chart.lines.forEach((line, i) => paintName(context, line, PLOT.y + PLOT.height + 44 + KEY_PX * i, theme));
  paintMarksKey(context, chart, PLOT.y + PLOT.height + 44 + KEY_PX * chart.lines.length, theme);
}

// A logarithmic axis takes magnitudes; zeros are marked below it.
function placed({ values }: ChartLine, log: boolean): readonly (number | null)[] {
  return values.map((value) => (value === null || !Number.isFinite(value) || (log && value === 0) ? null : log ? Math.abs(value) : value));
}

function axesOf({ lines, log, step, smoothing }: DrawnChart): Axes {
  const steps = [...lines.flatMap((line) => line.steps), ...(step === undefined ? [] : [step])];
  const [first, last] = endsOf(steps, 0, 1);
  const along = (value: number): number => (log ? Math.log10(value) : value);
  // A line that was smoothed over zeros goes below its least number.
  const drawn = [...lines, ...lines.map((line) => ({ ...line, values: smooth(line.values, smoothing) }))];
  const numbers = drawn.flatMap((line) => placed(line, log)).flatMap((value) => (value === null ? [] : [value]));
  const [least, most] = endsOf(numbers.map(along), log ? 0 : -0.5, log ? 1 : 0.5);
  const room = (most - least) * 0.06 || (log ? 0.05 : Math.abs(most) * 0.05 || 1);
  const [low, high] = [least - room, most + room];
  const floor = markedSteps(lines, log).zeros.length > 0 ? PLOT.y + PLOT.height - FLOOR_PX : undefined;
  const height = PLOT.height - (floor === undefined ? 0 : FLOOR_ROOM_PX);
  const back = (value: number): number => (log ? 10 ** value : value);
  return {
    x: (at) => PLOT.x + (last === first ? 0.5 : (at - first) / (last - first)) * PLOT.width,
    y: (value) => PLOT.y + height * (1 - (along(value) - low) / (high - low)),
    steps: last === first ? [first] : evenTicks(first, last, 12).filter(Number.isInteger),
    values: (log ? logTicks : evenTicks)(back(low), back(high), Math.floor(height / TICK_PX)),
    floor,
  };
}

function endsOf(numbers: readonly number[], low: number, high: number): readonly [number, number] {
  return numbers.length === 0
    ? [low, high]
    : numbers.reduce<readonly [number, number]>(([a, b], one) => [Math.min(a, one), Math.max(b, one)], [Infinity, -Infinity]);
}

function paintAxes(context: CanvasRenderingContext2D, { x, y, steps, values, floor }: Axes, theme: Theme): void {
  const bottom = PLOT.y + PLOT.height;
  for (const step of steps) {
    stroke(
      context,
      [
        [x(step), PLOT.y],
        [x(step), bottom],
      ],
      theme.groupBorder,
      1,
      [],
    );
    context.textAlign = "center";
    write(context, String(step), DETAIL_FONT, theme.inkSoft, x(step), bottom + 14);
  }
  const levels = values.map((value) => [value, y(value)] as const);
  for (const [value, at] of floor === undefined ? levels : [[0, floor] as const, ...levels]) {
    stroke(
      context,
      [
        [PLOT.x, at],
        [PLOT.x + PLOT.width, at],
      ],
      theme.groupBorder,
      1,
      [],
    );
    context.textAlign = "right";
    write(context, formatNumber(value), DETAIL_FONT, theme.inkSoft, PLOT.x - 8, at);
  }
  context.textAlign = "right";
  write(context, "step", DETAIL_FONT, theme.inkSoft, PLOT.x + PLOT.width, bottom + 30);
  context.textAlign = "left";
}

// If the line is smoothed, the raw line lies below it.
function paintLine(context: CanvasRenderingContext2D, { log, smoothing }: DrawnChart, line: ChartLine, { x, y }: Axes): void {
  const { color, dash = [], width = THIN_PX, steps } = line;
  const raw = placed(line, log);
  const layers =
    smoothing > 0
      ? ([
          [raw, `${color}48`],
          [placed({ ...line, values: smooth(line.values, smoothing) }, log), color],
        ] as const)
      : ([[raw, color]] as const);
  for (const [values, ink] of layers) {
    for (const part of partsOf(steps, values))
      stroke(
        context,
        part.map(([step, value]) => [x(step), y(value)]),
        ink,
        width,
        dash,
      );
  }
  if (smoothing > 0 || width > THIN_PX) return;
  const alone =
    steps.length <= FEW_POINTS
      ? [...steps.keys()]
      : [...steps.keys()].filter((i) => (raw[i - 1] ?? null) === null && (raw[i + 1] ?? null) === null);
  context.fillStyle = color;
  for (const i of alone) {
    const value = raw[i];
    if (value === null || value === undefined) continue;
    context.beginPath();
    context.arc(x(steps[i]!), y(value), 2, 0, 2 * Math.PI);
    context.fill();
  }
}

// A missing number interrupts the line.
function partsOf(steps: readonly number[], values: readonly (number | null)[]): readonly (readonly (readonly [number, number])[])[] {
  const parts: (readonly [number, number])[][] = [[]];
  values.forEach((value, i) => {
    if (value === null) parts.push([]);
    else parts.at(-1)!.push([steps[i]!, value]);
  });
  return parts.filter(({ length }) => length > 1);
}

function paintName(context: CanvasRenderingContext2D, { label, color, dash = [] }: ChartLine, y: number, theme: Theme): void {
  stroke(
    context,
    [
      [16, y],
      [34, y],
    ],
    color,
    2.5,
    dash,
  );
  write(context, fitText(label, DETAIL_FONT, NAME_PX), DETAIL_FONT, theme.ink, 42, y);
}

// Empty if nothing is marked.
function paintMarksKey(context: CanvasRenderingContext2D, { lines, log }: DrawnChart, y: number, theme: Theme): void {
  const marked = markedSteps(lines, log);
  const { zeros, nonfinite, gaps } = marked;
  let x = 16;
  const put = (text: string, color: string | undefined): void => {
    if (color !== undefined) {
      context.fillStyle = color;
      context.fillRect(x, y - 3, 6, 6);
      x += 12;
    }
    write(context, text, DETAIL_FONT, theme.inkSoft, x, y);
    x += widthOf(text, DETAIL_FONT) + 18;
  };
  if (zeros.length > 0) put("zero, at the bottom", theme.inkSoft);
  if (nonfinite.length > 0) put(`${nonfiniteText(marked)}, at the top`, theme.nonfinite);
  if (gaps !== undefined && x > 16) put(gaps, undefined);
}

function stroke(
  context: CanvasRenderingContext2D,
  points: readonly (readonly [number, number])[],
  color: string,
  width: number,
  dash: readonly number[],
): void {
  context.strokeStyle = color;
  context.lineWidth = width;
  context.setLineDash([...dash]);
  context.beginPath();
  points.forEach(([x, y], i) => (i === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
  context.stroke();
  context.setLineDash([]);
}

function write(context: CanvasRenderingContext2D, text: string, font: string, color: string, x: number, y: number): void {
  context.font = font;
  context.fillStyle = color;
  context.fillText(text, x, y);
}
