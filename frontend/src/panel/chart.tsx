// A line over steps (uPlot). A click goes to the step.

import { useEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";
import uPlot from "uplot";
import { formatNumber } from "../base/format";
import type { Theme } from "../draw/theme";

const HEIGHT_PX = 150;

export interface ChartProps {
  readonly steps: readonly number[];
  readonly values: readonly (number | null)[];
  readonly log: boolean;
  readonly label: string; // beside the vertical axis, where its numbers need a word
  readonly step: number | undefined;
  readonly theme: Theme;
  readonly goTo: (step: number) => void;
}

export function Chart(props: ChartProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const made = new uPlot(optionsOf(latest, element.clientWidth || 300), dataOf(props), element);
    const click = (): void => goToCursor(made, latest.current);
    made.over.addEventListener("click", click);
    plot.current = made;
    return () => {
      made.destroy();
      plot.current = undefined;
    };
  }, [props.log, props.label, props.theme]);
  useEffect(() => plot.current?.setData(dataOf(props)), [props.steps, props.values.join()]);
  useEffect(() => plot.current?.redraw(false), [props.step]);
  const finite = props.values.filter((value) => value !== null).length;
  return (
    <div class="chart" data-testid="chart" data-points={finite} data-step={props.step} data-log={props.log} data-axis={props.label}
      role="img" aria-label={`${finite} of ${props.steps.length} records have a number`}>
      <div ref={place} />
    </div>
  );
}

// A logarithmic axis takes magnitudes, and has no place for zero.
function dataOf({ steps, values, log }: ChartProps): uPlot.AlignedData {
  const shown = values.map((value) => (value === null || !log ? value : value === 0 ? null : Math.abs(value)));
  return [[...steps], shown];
}

function goToCursor(plot: uPlot, { steps, goTo }: ChartProps): void {
  const { idx } = plot.cursor;
  const step = typeof idx === "number" ? steps[idx] : undefined;
  if (step !== undefined) goTo(step);
}

function optionsOf(latest: { readonly current: ChartProps }, width: number): uPlot.Options {
  const { theme, log, label } = latest.current;
  const grid = { stroke: theme.groupBorder, width: 1 };
  const axis = { stroke: theme.inkSoft, grid, ticks: { ...grid, size: 4 }, font: "11px system-ui" };
  return {
    width,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    scales: { x: { time: false }, y: log ? { distr: 3 } : {} },
    axes: [
      { ...axis, size: 22, space: 50 },
      { ...axis, size: 56, ...(label ? { label, labelSize: 16, labelGap: 0, labelFont: "11px system-ui" } : {}), ...(log ? { grid: { ...grid, filter: wholePowers }, ticks: { ...grid, size: 4, filter: wholePowers } } : {}), values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : formatNumber(tick))) },
    ],
    series: [{}, { stroke: theme.accent, width: 1.5, spanGaps: false, points: { show: latest.current.steps.length <= 60, size: 4, fill: theme.accent } }],
    hooks: { draw: [(plot) => drawStep(plot, latest.current)] },
  };
}

// Over many decades the lines between powers of ten would be one grey block.
function wholePowers(_: uPlot, splits: number[]): (number | null)[] {
  return splits.map((split) => (Number.isInteger(Math.round(Math.log10(split) * 1e6) / 1e6) ? split : null));
}

function drawStep(plot: uPlot, { step, theme }: ChartProps): void {
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
