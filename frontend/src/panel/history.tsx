// A row over all records: the chosen statistic as a line, the step's elements as a histogram, and the histograms of all steps.

import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { HISTOGRAM_BINS, recordIn, type NodeSeries } from "../api/parse";
import type { Result } from "../base/result";
import { lineColor } from "../draw/line_colors";
import { BACKWARD } from "../model/run";
import { goToStep } from "../state/actions";
import { csvOf } from "../base/csv";
import { Section } from "./card_parts";
import { Chart, valueIn, type ChartLine } from "./chart";
import { ChartKey } from "./chart_key";
import { THIN } from "./chart_options";
import type { Drawing } from "./drawing";
import { Histogram } from "./histogram";
import { saveFile } from "./download";
import { HistogramStrip } from "./histogram_strip";
import { bundlesOf, pointsOf, type Bundle } from "./lines";
import { nameOf } from "./picture";
import { PinButton } from "./pin_button";
import type { Session } from "./session";

interface HistoryProps {
  readonly session: Session;
  readonly drawing: Drawing;
  readonly reply: Result<NodeSeries> | undefined;
}

export function History({ session, drawing, reply }: HistoryProps): JSX.Element {
  const { store } = session;
  const [chosen, choose] = useState<string | undefined>(undefined);
  const ref = store.ref.value;
  if (reply === undefined) return <Section title="Over steps"><p class="faint">Loading…</p></Section>;
  if (!reply.ok) return <Section title="Over steps"><p class="faint" data-testid="chart-error">{reply.error}</p></Section>;
  const series = reply.value;
  const bundles = bundlesOf(series, store.statistic.value);
  const bundle = bundles.find(({ id }) => id === chosen) ?? bundles.find(({ id }) => id === ref?.stage) ?? bundles[0];
  // Until the numbers of a step that just came are here, those of the one before it stay.
  const behind = ref !== undefined && ref.step > (series.steps.at(-1) ?? ref.step);
  const at = behind ? series.steps.length - 1 : recordIn(series, ref);
  const counts = series.histogram.subarray(Math.max(0, at) * HISTOGRAM_BINS, (at + 1) * HISTOGRAM_BINS);
  return (
    <>
      {bundle && <OverSteps session={session} drawing={drawing} series={series} bundles={bundles} bundle={bundle} choose={choose} />}
      {counts.some((count) => count > 0) && (
        <Section title="Elements by magnitude" id="histogram-section">
          <Histogram counts={counts} low={series.histogramLow} width={series.histogramWidth} />
        </Section>
      )}
      <HistogramStrip series={series} place={ref} theme={drawing.theme.value} goTo={(step) => goToStep(store, step, ref?.backwardPass)} />
    </>
  );
}

function OverSteps({ session: { store }, drawing, series, bundles, bundle, choose }: {
  readonly session: Session;
  readonly drawing: Drawing;
  readonly series: NodeSeries;
  readonly bundles: readonly Bundle[];
  readonly bundle: Bundle;
  readonly choose: (id: string) => void;
}): JSX.Element | null {
  const statistic = store.statistic.value;
  const [scale, setScale] = useState<{ readonly of: string; readonly log: boolean } | undefined>(undefined);
  const [pointed, pointAt] = useState<number | undefined>(undefined);
  const ref = store.ref.value;
  const pass = ref?.backwardPass ?? 0;
  const theme = drawing.theme.value;
  const lines = bundle.lines.map((line, i) => ({
    id: line.id, label: line.option, color: lineColor(i, theme), width: bundle.id === "every_stage" ? widthAt(i, bundle.lines.length) : THIN, ...pointsOf(series, line, line.stage === ref?.stage ? pass : 0),
  }));
  const of = `${bundle.id} ${statistic.id}`;
  const wanted = scale?.of === of ? scale.log : bundle.startsLog;
  // Where every number is zero a logarithmic axis has nothing to show.
  const log = wanted && bundle.canBeLog && lines.some(({ values }) => values.some((value) => value !== null && value !== 0));
  const passes = bundle.lines.some(({ stage }) => stage === BACKWARD && stage === ref?.stage) &&
    series.stages.some((stage, i) => stage === BACKWARD && series.backwardPasses[i] !== pass);
  if (lines.every(({ steps }) => steps.length < 2)) return null;
  return (
    <Section title={`${bundle.title} over steps${bundle.where}${passes ? `, pass ${pass + 1}` : ""}`} id="history">
      <div class="chart-choices">
        {bundles.length > 1 && (
          <select data-testid="chart-of" aria-label="What is drawn over the steps" value={bundle.id} onChange={(event) => choose(event.currentTarget.value)}>
            {bundles.map(({ id, option }) => <option key={id} value={id}>{option}</option>)}
          </select>
        )}
        {bundle.canBeLog && <label class="check">
          <input type="checkbox" data-testid="log-scale" checked={log}
            onChange={(event) => setScale({ of, log: event.currentTarget.checked })} />
          log scale
        </label>}
        <button type="button" class="link" data-testid="chart-csv" title="Save these numbers as a table, CSV"
          onClick={() => saveFile(`${nameOf(store)}-${bundle.id}.csv`.replace(/[^\w.-]+/g, "_"), new Blob([csvOf(tableOf(bundle, lines))], { type: "text/csv" }))}>
          CSV
        </button>
      </div>
      <Chart lines={lines} log={log} label={log && bundle.signed ? `|${statistic.label}|` : ""}
        step={ref?.step} theme={theme} pointAt={pointAt} goTo={(step) => goToStep(store, step, ref?.backwardPass)} />
      <ChartKey lines={lines} log={log} step={ref?.step} pointed={pointed} />
      <PinButton store={store} pin={series.key} />
    </Section>
  );
}

// A row a step; a step that a line has no number of is an empty cell.
function tableOf({ lines: [only, ...others] }: Bundle, lines: readonly ChartLine[]): readonly (readonly (string | number | null)[])[] {
  const names = only !== undefined && others.length === 0 ? [only.columns.join("+")] : lines.map(({ id }) => id);
  const steps = [...new Set(lines.flatMap((line) => line.steps))].sort((a, b) => a - b);
  return [["step", ...names], ...steps.map((step) => [step, ...lines.map((line) => valueIn(line, step) ?? null)])];
}

// Stages that change nothing lie upon each other: the earlier ones are seen as a rim.
function widthAt(index: number, count: number): number {
  return THIN + 1.2 * (count - 1 - index);
}

// Asked again when the runs were read again: new records may be there.
export function useSeries(session: Session, row: number | undefined): Result<NodeSeries> | undefined {
  const { store } = session;
  const [reply, setReply] = useState<Result<NodeSeries> | undefined>(undefined);
  const run = store.run.value?.run;
  const tag = store.tag.value;
  const shown = store.hierarchy.value?.graph.hash;
  // While another run's graph is on its way, the row is of the one before.
  const hash = shown === store.hash.value ? shown : undefined;
  useEffect(() => {
    if (run === undefined || tag === undefined || hash === undefined || row === undefined) return undefined;
    let current = true;
    void session.client.node(run, tag.tag, hash, row).then((answer) => current && setReply(answer));
    return () => {
      current = false;
    };
  }, [run, tag, hash, row]);
  return reply;
}
