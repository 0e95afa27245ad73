// The look of charts: axes, lines, and the mark of the step.

import uPlot from "uplot";
import { formatNumber } from "../../base/format";
import type { Size } from "../../base/geometry";
import type { ChartLine } from "../../draw/charts/chart_line";
import { FLOOR_PX, FLOOR_ROOM_PX, markedSteps, paintMarks } from "../../draw/charts/chart_marks";
import { FEW_POINTS, THIN_PX } from "../../draw/charts/paint_chart";
import type { Theme } from "../../draw/style/theme";
import { logTicks } from "../../model/charts/log_ticks";
import type { ChartProps } from "./chart_props";

const TICK_PX = 28;
const MOST_TICKS = 8;

// Dragging is off, because uPlot would treat some clicks at both ends as the end of a drag.
export const NO_DRAG: uPlot.Cursor.Drag = { x: false, y: false, click: () => undefined };

export function axisOf(theme: Theme): uPlot.Axis {
  const grid = { stroke: theme.groupBorder, width: 1 };
  return { stroke: theme.inkSoft, grid, ticks: { ...grid, size: 4 }, font: "11px system-ui" };
}

export function optionsOf(latest: { readonly current: ChartProps }, size: Size): uPlot.Options {
  const { theme, log, label, lines, smoothing = 0 } = latest.current;
  const axis = axisOf(theme);
  return {
    ...size,
    legend: { show: false },
    cursor: { y: false, drag: NO_DRAG, points: { size: 6 } },
    scales: {
      x: { time: false },
      y: { ...(log ? { distr: 3 } : {}), range: (plot, low, high) => rangeOf(plot, latest.current, low, high) },
    },
    axes: [
      { ...axis, size: 22, space: 50, incrs: WHOLE },
      {
        ...axis,
        size: 56,
        filter: (_, splits) => splits,
        values: (plot, ticks) => ticks.map((tick, i) => (i === 0 && roomOf(plot, latest.current) > 0 ? "0" : formatNumber(tick))),
        ...(label ? { label, labelSize: 16, labelGap: 0, labelFont: "11px system-ui" } : {}),
        ...(log
          ? { splits: (plot, _, low, high) => splitsOf(plot, low, high, roomOf(plot, latest.current)) }
          : { space: (plot) => Math.max(TICK_PX, plot.height / MOST_TICKS) }),
      },
    ],
    series: [{}, ...lines.flatMap((line) => (smoothing > 0 ? [seriesOf(line, true), seriesOf(line, false)] : [seriesOf(line, false)]))],
    bands: bandsOf(lines, smoothing > 0),
    hooks: {
      draw: [(plot) => drawStep(plot, latest.current), (plot) => drawMarks(plot, latest.current)],
      setCursor: [(plot) => latest.current.pointAt?.(typeof plot.cursor.idx === "number" ? plot.data[0][plot.cursor.idx] : undefined)],
    },
  };
}

// On an even axis the ends are round numbers, as uPlot has them.
function rangeOf(plot: uPlot, props: ChartProps, low: number | null, high: number | null): uPlot.Range.MinMax {
  const [least, most] = props.range ?? [low, high];
  if (props.log) return beyond(least, most, roomOf(plot, props));
  return least === null || most === null ? [null, null] : uPlot.rangeNum(least, most, 0.1, true);
}

// Slightly beyond the ends. uPlot would extend to the next power of ten.
function beyond(low: number | null, high: number | null, floorRoom: number): uPlot.Range.MinMax {
  if (low === null || high === null) return [1, 10];
  const room = Math.max(1.15, (high / low) ** 0.06);
  const [least, most] = [low / room, high * room];
  return [least * (least / most) ** (floorRoom / (1 - floorRoom)), most];
}

// The share of the height that is below the logarithmic scale, for zeros if there are any.
function roomOf(plot: uPlot, { lines, log }: ChartProps): number {
  return markedSteps(lines, log).zeros.length > 0 ? FLOOR_ROOM_PX / Math.max(plot.height, 3 * FLOOR_ROOM_PX) : 0;
}

// The first is the floor, if there is one.
function splitsOf(plot: uPlot, low: number, high: number, floorRoom: number): number[] {
  const ticks = logTicks(low * (high / low) ** floorRoom, high, Math.min(MOST_TICKS, plot.height / TICK_PX));
  return floorRoom > 0 ? [floorOf(low, high, floorRoom), ...ticks] : [...ticks];
}

function floorOf(low: number, high: number, floorRoom: number): number {
  return low * (high / low) ** (floorRoom * (FLOOR_PX / FLOOR_ROOM_PX));
}

function drawMarks(plot: uPlot, props: ChartProps): void {
  const { min = 1, max = 1 } = plot.scales["y"] ?? {};
  const { lines, log, theme } = props;
  paintMarks(
    plot.ctx,
    lines,
    log,
    {
      x: (step) => plot.valToPos(step, "x", true),
      top: plot.bbox.top,
      pixel: window.devicePixelRatio,
      floor: log ? plot.valToPos(floorOf(min, max, roomOf(plot, props)), "y", true) : 0,
    },
    theme,
  );
}

// A single step is in the middle. uPlot would add a hundred to its right.
export function centerOne(plot: uPlot): void {
  const [step, ...others] = plot.data[0];
  if (step !== undefined && others.length === 0) plot.setScale("x", { min: step - 0.5, max: step + 0.5 });
}

// Steps and calls are whole numbers.
const WHOLE = [1, 2, 5].flatMap((one) => Array.from({ length: 15 }, (_, power) => one * 10 ** power)).sort((a, b) => a - b);

function seriesOf({ color, dash, width = THIN_PX, steps }: ChartLine, faint: boolean): uPlot.Series {
  return {
    stroke: faint ? `${color}48` : color,
    width,
    spanGaps: false,
    ...(dash === undefined || dash.length === 0 ? {} : { dash: [...dash] }),
    points: { show: !faint && steps.length <= FEW_POINTS && width <= THIN_PX, size: 4, fill: color },
  };
}

// While lines are smoothed, each has two series, and the second one is the smooth one.
function bandsOf(lines: readonly ChartLine[], smoothed: boolean): uPlot.Band[] {
  const seriesAt = (line: number): number => (smoothed ? 2 * line + 2 : line + 1);
  return lines.flatMap(({ fillTo, color }, i) => {
    const other = lines.findIndex(({ id }) => id === fillTo);
    return other === -1 ? [] : [{ series: [seriesAt(i), seriesAt(other)], fill: `${color}26` }];
  });
}

export function drawStep(plot: uPlot, { step, theme }: Pick<ChartProps, "step" | "theme">): void {
  if (step === undefined) return;
  const x = Math.round(plot.valToPos(step, "x", true));
  const { ctx, bbox } = plot;
  if (x < bbox.left || x > bbox.left + bbox.width) return;
  ctx.save();
  ctx.strokeStyle = theme.root;
  ctx.lineWidth = Math.max(1, window.devicePixelRatio);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}
