// A row over all records: the chosen statistic as a line, the step's elements as a histogram.

import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { HISTOGRAM_BINS, type NodeSeries } from "../api/parse";
import type { Result } from "../base/result";
import type { Statistic } from "../model/statistics";
import { goToStep } from "../state/actions";
import { Section } from "./card_parts";
import { Chart } from "./chart";
import type { Drawing } from "./drawing";
import { Histogram } from "./histogram";
import type { Session } from "./session";

export function History({ session, drawing, reply }: {
  readonly session: Session;
  readonly drawing: Drawing;
  readonly reply: Result<NodeSeries> | undefined;
}): JSX.Element {
  const { store } = session;
  const [chosen, choose] = useState<{ readonly of: Statistic; readonly log: boolean } | undefined>(undefined);
  const ref = store.ref.value;
  if (reply === undefined) return <Section title="Over steps"><p class="faint">Loading…</p></Section>;
  if (!reply.ok) return <Section title="Over steps"><p class="faint" data-testid="chart-error">{reply.error}</p></Section>;
  const series = reply.value;
  const statistic = store.statistic.value;
  const ofPass = series.steps.map((_, i) => i).filter((i) => series.backwardPasses[i] === ref?.backwardPass);
  const values = statisticOver(series, statistic.columns);
  const wanted = chosen?.of === statistic ? chosen.log : startsLogarithmic(statistic);
  // Where every number is zero a logarithmic axis has nothing to show.
  const log = wanted && canBeLogarithmic(statistic) && values.some((value) => value !== null && value !== 0);
  const several = ofPass.length < series.steps.length;
  const at = series.steps.findIndex((step, i) => step === ref?.step && series.backwardPasses[i] === ref?.backwardPass);
  return (
    <>
      {ofPass.length > 1 && <Section title={`${statistic.label} over steps${several ? `, pass ${(ref?.backwardPass ?? 0) + 1}` : ""}`} id="history">
        {canBeLogarithmic(statistic) && <label class="check">
          <input type="checkbox" data-testid="log-scale" checked={log}
            onChange={(event) => choose({ of: statistic, log: event.currentTarget.checked })} />
          log scale
        </label>}
        <Chart steps={ofPass.map((i) => series.steps[i]!)} values={ofPass.map((i) => values[i]!)} log={log}
          label={log && statistic.signed ? `|${statistic.label}|` : ""} step={ref?.step} theme={drawing.theme.value} goTo={(step) => goToStep(store, step, ref?.backwardPass)} />
      </Section>}
      {at !== -1 && series.present[at] === 1 && (
        <Section title="Elements by magnitude" id="histogram-section">
          <Histogram counts={series.histogram.subarray(at * HISTOGRAM_BINS, (at + 1) * HISTOGRAM_BINS)}
            low={series.histogramLow} width={series.histogramWidth} />
        </Section>
      )}
    </>
  );
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

// A share lies between 0 and 1, and is often exactly one of them.
function canBeLogarithmic(statistic: Statistic): boolean {
  return statistic.scale === "log";
}

// Signs and counts (mostly zero) are lost on a logarithmic axis.
function startsLogarithmic(statistic: Statistic): boolean {
  return canBeLogarithmic(statistic) && !statistic.signed && statistic.summary === "greatest";
}

function statisticOver(series: NodeSeries, columns: readonly string[]): readonly (number | null)[] {
  const indices = columns.map((column) => series.statistics.indexOf(column)).filter((index) => index !== -1);
  const records = series.steps.length;
  return series.steps.map((_, record) => {
    if (series.present[record] !== 1 || indices.length === 0) return null;
    const value = indices.reduce((sum, index) => sum + series.values[index * records + record]!, 0);
    return Number.isNaN(value) ? null : value;
  });
}
