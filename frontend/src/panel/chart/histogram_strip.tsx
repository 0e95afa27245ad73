// The elements by magnitude over the steps: one column for each step. The more elements have a magnitude, the darker it is.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import uPlot from "uplot";
import type { NodeSeries } from "../../api/parse";
import { formatNumber } from "../../base/format";
import { HISTOGRAM_BINS } from "../../base/vocabulary";
import { rampOf } from "../../draw/style/color_scale";
import type { Theme } from "../../draw/style/theme";
import { columnEdges, columnsOf, type HistogramColumns } from "../../model/charts/histogram_columns";
import { BACKWARD, isOfPass, type RecordRef } from "../../model/recorded/run";
import { Section } from "../controls/section";
import { axisOf, drawStep, NO_DRAG } from "./chart_options";

const HEIGHT_PX = 140;

interface StripProps {
  readonly id: string;
  readonly columns: HistogramColumns;
  readonly step: number | undefined;
  readonly theme: Theme;
  readonly goTo: (step: number) => void;
}

export function HistogramStrip({
  id = "histogram-strip",
  title = "Elements by magnitude over steps",
  series,
  place,
  theme,
  goTo,
}: Pick<StripProps, "theme" | "goTo"> & {
  readonly id?: string; // for tests
  readonly title?: string;
  readonly series: NodeSeries;
  readonly place: RecordRef | undefined;
}): JSX.Element | null {
  const [stage, pass] = [place?.stage ?? BACKWARD, place?.backwardPass ?? 0];
  const columns = useMemo(() => {
    const records = series.steps
      .map((_, i) => i)
      .filter((i) => series.stages[i] === stage && (!isOfPass(stage) || series.backwardPasses[i] === pass));
    return columnsOf(series.histogram, HISTOGRAM_BINS, series.histogramLow, series.histogramWidth, records, series.steps);
  }, [series, stage, pass]);
  if (columns === undefined || columns.steps.length < 2) return null;
  return (
    <Section title={title} id={`${id}-section`}>
      <Strip id={id} columns={columns} step={place?.step} theme={theme} goTo={goTo} />
    </Section>
  );
}

interface Pointed {
  readonly column: number;
  readonly bin: number;
}

function Strip(props: StripProps): JSX.Element {
  const { columns, theme } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef(props);
  const [pointed, pointAt] = useState<Pointed | undefined>(undefined);
  latest.current = props;
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const made = new uPlot(
      optionsOf(latest, element.clientWidth || 300, pointAt),
      [[...columns.steps], columns.steps.map(() => null)],
      element,
    );
    made.over.addEventListener("click", () => {
      const step = latest.current.columns.steps[made.cursor.idx ?? -1];
      if (step !== undefined) latest.current.goTo(step);
    });
    plot.current = made;
    return () => {
      made.destroy();
      plot.current = undefined;
    };
  }, [columns, theme]);
  useEffect(() => plot.current?.redraw(false, true), [props.step]);
  return (
    <div
      class="chart"
      data-testid={props.id}
      data-steps={columns.steps.length}
      data-bins={columns.bins}
      data-low={columns.low}
      role="img"
      aria-label={`Elements by magnitude at ${columns.steps.length} steps, from ${formatNumber(2 ** columns.low)} to ${formatNumber(2 ** (columns.low + columns.width * columns.bins))}`}
    >
      <div ref={place} />
      <p class="faint chart-key" data-testid={`${props.id}-pointed`}>
        {pointed === undefined ? "Point at a column to see its numbers." : sentence(columns, pointed)}
      </p>
    </div>
  );
}

function sentence({ steps, low, width, bins, shares, sampled }: HistogramColumns, { column, bin }: Pointed): string {
  const [from, to] = [low + width * bin, low + width * (bin + 1)].map((log2) => formatNumber(2 ** log2));
  return `step ${steps[column]}: ${formatNumber(100 * shares[column * bins + bin]!)} % of ${sampled[column]} sampled elements are from ${from} to ${to}`;
}

function optionsOf(
  latest: { readonly current: StripProps },
  width: number,
  pointAt: (pointed: Pointed | undefined) => void,
): uPlot.Options {
  const { columns, theme } = latest.current;
  const edges = columnEdges(columns.steps);
  const axis = axisOf(theme);
  const ends: [number, number] = [columns.low, columns.low + columns.width * columns.bins];
  return {
    width,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { drag: NO_DRAG, points: { show: false } },
    scales: { x: { time: false, range: [edges[0]!, edges.at(-1)!] }, y: { range: ends } },
    axes: [
      { ...axis, size: 22, space: 50, grid: { show: false } },
      { ...axis, size: 62, grid: { show: false }, space: 26, values: (_, ticks) => ticks.map((tick) => formatNumber(2 ** tick)) },
    ],
    series: [{}, {}],
    hooks: {
      drawClear: [(plot) => paintColumns(plot, columns, edges, theme)],
      draw: [(plot) => drawStep(plot, latest.current)],
      setCursor: [(plot) => pointAt(pointedAt(plot, columns))],
    },
  };
}

function pointedAt(plot: uPlot, { low, width, bins }: HistogramColumns): Pointed | undefined {
  const { idx, top } = plot.cursor;
  if (typeof idx !== "number" || top === undefined || top < 0) return undefined;
  const bin = Math.floor((plot.posToVal(top, "y") - low) / width);
  return { column: idx, bin: Math.max(0, Math.min(bins - 1, bin)) };
}

// If several columns share a pixel, the last one is visible.
function paintColumns(
  plot: uPlot,
  { steps, low, width, bins, shares, full }: HistogramColumns,
  edges: readonly number[],
  theme: Theme,
): void {
  const { ctx } = plot;
  const ramp = rampOf(theme.dark, theme.ramp);
  const bottoms = Array.from({ length: bins + 1 }, (_, bin) => Math.round(plot.valToPos(low + width * bin, "y", true)));
  steps.forEach((_, column) => {
    const left = Math.round(plot.valToPos(edges[column]!, "x", true));
    const wide = Math.max(1, Math.round(plot.valToPos(edges[column + 1]!, "x", true)) - left);
    for (let bin = 0; bin < bins; bin++) {
      const share = shares[column * bins + bin]!;
      if (share === 0) continue;
      ctx.fillStyle = ramp[Math.round(Math.min(1, share / full) * (ramp.length - 1))]!;
      ctx.fillRect(left, bottoms[bin + 1]!, wide, bottoms[bin]! - bottoms[bin + 1]!);
    }
  });
}
