// A row over all records: the chosen statistic as a line, the step's elements as a histogram, and the histograms of all steps.

import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { recordIn, type NodeSeries } from "../../../api/parse";
import { followLatest } from "../../../base/follow_latest";
import type { Result } from "../../../base/result";
import { FORWARD, HISTOGRAM_BINS } from "../../../base/vocabulary";
import { THIN_PX } from "../../../draw/charts/paint_chart";
import { lineColor } from "../../../draw/style/line_colors";
import type { Half } from "../../../model/recorded/record";
import { BACKWARD, valuesBeside, type RecordRef } from "../../../model/recorded/run";
import type { Statistic } from "../../../model/recorded/statistics";
import { goToStep } from "../../../state/actions";
import { Chart } from "../../chart/chart";
import { ChartKey } from "../../chart/chart_key";
import { Histogram } from "../../chart/histogram";
import { HistogramStrip } from "../../chart/histogram_strip";
import { bundlesOf, pointsOf, type Bundle } from "../../chart/lines";
import { nameOfPin } from "../../chart/pin_names";
import { Section } from "../../controls/section";
import { SaveChart } from "../../picture/save_chart";
import type { Session } from "../../session/session";
import type { CardProps } from "./card_parts";

interface HistoryProps extends Pick<CardProps, "session" | "drawing" | "ofViews"> {
  readonly reply: Result<NodeSeries> | undefined; // of gradients
  readonly values: NodeSeries | undefined;
  readonly statistic: Statistic; // as it applies to this tensor
}

export function History({
  session,
  drawing,
  ofViews,
  reply,
  values,
  word,
  statistic,
}: HistoryProps & { readonly word: string }): JSX.Element {
  const { store } = session;
  const [chosen, choose] = useState<string | undefined>(undefined);
  const ref = store.place.ref.value;
  if (reply === undefined)
    return (
      <Section title="Over steps">
        <p class="faint">Loading…</p>
      </Section>
    );
  if (!reply.ok)
    return (
      <Section title="Over steps">
        <p class="faint" data-testid="chart-error">
          {reply.error}
        </p>
      </Section>
    );
  const series = reply.value;
  const bundles = bundlesOf(series, statistic, values, word);
  const shown = store.place.read.value?.stage;
  const bundle = bundles.find(({ id }) => id === chosen) ?? bundles.find(({ id }) => id === shown) ?? bundles[0];
  // The numbers of the previous step stay until those of the new one arrive.
  const behind = ref !== undefined && ref.step > (series.steps.at(-1) ?? ref.step);
  const countsIn = (one: NodeSeries, place: RecordRef | undefined): Uint16Array => {
    const at = behind ? one.steps.length - 1 : recordIn(one, place);
    return one.histogram.subarray(Math.max(0, at) * HISTOGRAM_BINS, (at + 1) * HISTOGRAM_BINS);
  };
  const halves = [
    ...(values === undefined
      ? []
      : [{ one: values, place: ref && valuesBeside(ref), of: `${word[0]!.toUpperCase()}${word.slice(1)}: e`, id: "value-" }]),
    { one: series, place: ref, of: values === undefined ? "E" : "Gradient: e", id: "" },
  ];
  return (
    <>
      {bundle && (
        <OverSteps
          session={session}
          drawing={drawing}
          ofViews={ofViews}
          statistic={statistic}
          series={series}
          values={values}
          bundles={bundles}
          bundle={bundle}
          choose={choose}
        />
      )}
      {halves.map(({ one, place, of, id }) => {
        const counts = countsIn(one, place);
        return (
          counts.some((count) => count > 0) && (
            <Section key={id} title={`${of}lements by magnitude`} id={`${id}histogram-section`}>
              <Histogram counts={counts} low={one.histogramLow} width={one.histogramWidth} />
            </Section>
          )
        );
      })}
      {halves.map(({ one, place, of, id }) => (
        <HistogramStrip
          key={id}
          id={`${id}histogram-strip`}
          title={`${of}lements by magnitude over steps`}
          series={one}
          place={place}
          theme={drawing.theme.value}
          goTo={(step) => goToStep(store, step, ref?.backwardPass)}
        />
      ))}
    </>
  );
}

function OverSteps({
  session: { store },
  drawing,
  ofViews,
  statistic,
  series,
  values,
  bundles,
  bundle,
  choose,
}: Omit<HistoryProps, "reply"> & {
  readonly series: NodeSeries;
  readonly bundles: readonly Bundle[];
  readonly bundle: Bundle;
  readonly choose: (id: string) => void;
}): JSX.Element | null {
  const [scale, setScale] = useState<{ readonly of: string; readonly log: boolean } | undefined>(undefined);
  const [pointed, pointAt] = useState<number | undefined>(undefined);
  const ref = store.place.ref.value;
  const pass = ref?.backwardPass ?? 0;
  const theme = drawing.theme.value;
  const lines = bundle.lines.map((line, i) => ({
    id: line.id,
    label: line.option,
    color: lineColor(i, theme),
    width: bundle.id === "every_stage" ? widthAt(i, bundle.lines.length) : THIN_PX,
    ...pointsOf(line.stage === FORWARD ? (values ?? series) : series, line, line.stage === FORWARD || line.stage === ref?.stage ? pass : 0),
    ...(line.stage === FORWARD ? { gap: "not read" } : {}),
  }));
  const of = `${bundle.id} ${statistic.id}`;
  const wanted = scale?.of === of ? scale.log : bundle.startsLog;
  // If every number is zero, a logarithmic axis has nothing to show.
  const log = wanted && bundle.canBeLog && lines.some(({ values }) => values.some((value) => value !== null && value !== 0));
  const passes =
    bundle.lines.some(({ stage }) => stage === BACKWARD && stage === ref?.stage) &&
    series.stages.some((stage, i) => stage === BACKWARD && series.backwardPasses[i] !== pass);
  if (lines.every(({ steps }) => steps.length < 2)) return null;
  return (
    <Section title={`${bundle.title} over steps${bundle.where}${passes ? `, pass ${pass + 1}` : ""}`} id="history">
      <div class="chart-choices">
        {bundles.length > 1 && (
          <select
            data-testid="chart-of"
            aria-label="What is drawn over the steps"
            value={bundle.id}
            onChange={(event) => choose(event.currentTarget.value)}
          >
            {bundles.map(({ id, option }) => (
              <option key={id} value={id}>
                {option}
              </option>
            ))}
          </select>
        )}
        {bundle.canBeLog && (
          <label class="check">
            <input
              type="checkbox"
              data-testid="log-scale"
              checked={log}
              onChange={(event) => setScale({ of, log: event.currentTarget.checked })}
            />
            log scale
          </label>
        )}
        <SaveChart
          store={store}
          drawing={drawing}
          look="link"
          chart={{
            lines,
            log,
            step: ref?.step,
            smoothing: 0,
            name: bundle.id,
            title: `${nameOfPin(store, series.key)}: ${bundle.title}${bundle.where}${log ? " (log)" : ""}`,
            columns: bundle.lines.length === 1 ? [bundle.lines[0]!.columns.join("+")] : lines.map(({ id }) => id),
          }}
        />
      </div>
      <Chart
        lines={lines}
        log={log}
        label={log && bundle.signed ? `|${statistic.label}|` : ""}
        step={ref?.step}
        theme={theme}
        pointAt={pointAt}
        goTo={(step) => goToStep(store, step, ref?.backwardPass)}
      />
      <ChartKey lines={lines} log={log} step={ref?.step} pointed={pointed} />
      {ofViews.map(({ OfTensor }, i) => (
        <OfTensor key={i} rowKey={series.key} />
      ))}
    </Section>
  );
}

// Lines of stages without a change coincide. The earlier one shows as a rim.
function widthAt(index: number, count: number): number {
  return THIN_PX + 1.2 * (count - 1 - index);
}

// Fetched again after the runs were read again, because there may be new records.
export function useSeries(session: Session, row: number | undefined, half: Half = "gradient"): Result<NodeSeries> | undefined {
  const { store } = session;
  const [reply, setReply] = useState<Result<NodeSeries> | undefined>(undefined);
  const run = store.place.run.value?.run;
  const tag = store.place.tag.value;
  const shown = store.recorded.hierarchy.value?.graph.hash;
  // While the graph of another run is loading, the row belongs to the previous graph.
  const hash = shown === store.place.hash.value ? shown : undefined;
  useEffect(() => {
    if (run === undefined || tag === undefined || hash === undefined || row === undefined) return undefined;
    return followLatest(
      () => [],
      () => session.client.node(run, tag.tag, hash, row, half),
      setReply,
    );
  }, [run, tag, hash, row]);
  return reply;
}
