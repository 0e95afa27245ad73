// A row over all records: the chosen statistic as a line, the step's elements as a histogram.

import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { HISTOGRAM_BINS, recordIn, type NodeSeries } from "../api/parse";
import type { Result } from "../base/result";
import { BACKWARD } from "../model/run";
import { goToStep } from "../state/actions";
import { csvOf } from "../base/csv";
import { Section } from "./card_parts";
import { Chart } from "./chart";
import type { Drawing } from "./drawing";
import { Histogram } from "./histogram";
import { saveFile } from "./download";
import { nameOf } from "./picture";
import { linesOf, pointsOf, type Line } from "./lines";
import type { Session } from "./session";

export function History({ session, drawing, reply }: {
  readonly session: Session;
  readonly drawing: Drawing;
  readonly reply: Result<NodeSeries> | undefined;
}): JSX.Element {
  const { store } = session;
  const [chosen, choose] = useState<string | undefined>(undefined);
  const ref = store.ref.value;
  if (reply === undefined) return <Section title="Over steps"><p class="faint">Loading…</p></Section>;
  if (!reply.ok) return <Section title="Over steps"><p class="faint" data-testid="chart-error">{reply.error}</p></Section>;
  const series = reply.value;
  const lines = linesOf(series, store.statistic.value);
  const line = lines.find(({ id }) => id === chosen) ?? lines.find(({ id }) => id === ref?.stage) ?? lines[0];
  // Until the numbers of a step that just came are here, those of the one before it stay.
  const behind = ref !== undefined && ref.step > (series.steps.at(-1) ?? ref.step);
  const at = behind ? series.steps.length - 1 : recordIn(series, ref);
  const counts = series.histogram.subarray(Math.max(0, at) * HISTOGRAM_BINS, (at + 1) * HISTOGRAM_BINS);
  return (
    <>
      {line && <OverSteps session={session} drawing={drawing} series={series} lines={lines} line={line} choose={choose} />}
      {counts.some((count) => count > 0) && (
        <Section title="Elements by magnitude" id="histogram-section">
          <Histogram counts={counts} low={series.histogramLow} width={series.histogramWidth} />
        </Section>
      )}
    </>
  );
}

function OverSteps({ session: { store }, drawing, series, lines, line, choose }: {
  readonly session: Session;
  readonly drawing: Drawing;
  readonly series: NodeSeries;
  readonly lines: readonly Line[];
  readonly line: Line;
  readonly choose: (id: string) => void;
}): JSX.Element | null {
  const statistic = store.statistic.value;
  const [scale, setScale] = useState<{ readonly of: string; readonly log: boolean } | undefined>(undefined);
  const ref = store.ref.value;
  const pass = ref?.backwardPass ?? 0;
  const { steps, values } = pointsOf(series, line, line.stage === ref?.stage ? pass : 0);
  const of = `${line.id} ${statistic.id}`;
  const wanted = scale?.of === of ? scale.log : line.startsLog;
  // Where every number is zero a logarithmic axis has nothing to show.
  const log = wanted && line.canBeLog && values.some((value) => value !== null && value !== 0);
  const passes = line.stage === BACKWARD && line.stage === ref?.stage &&
    series.stages.some((stage, i) => stage === BACKWARD && series.backwardPasses[i] !== pass);
  if (steps.length < 2) return null;
  return (
    <Section title={`${line.title} over steps${line.where}${passes ? `, pass ${pass + 1}` : ""}`} id="history">
      <div class="chart-choices">
        {lines.length > 1 && (
          <select data-testid="chart-of" aria-label="What is drawn over the steps" value={line.id} onChange={(event) => choose(event.currentTarget.value)}>
            {lines.map(({ id, option }) => <option key={id} value={id}>{option}</option>)}
          </select>
        )}
        {line.canBeLog && <label class="check">
          <input type="checkbox" data-testid="log-scale" checked={log}
            onChange={(event) => setScale({ of, log: event.currentTarget.checked })} />
          log scale
        </label>}
        <button type="button" class="link" data-testid="chart-csv" title="Save these numbers as a table, CSV"
          onClick={() => saveFile(`${nameOf(store)}-${line.id}.csv`.replace(/[^\w.-]+/g, "_"), new Blob([csvOf([["step", line.columns.join("+")], ...steps.map((step, i) => [step, values[i]!])])], { type: "text/csv" }))}>
          CSV
        </button>
      </div>
      <Chart steps={steps} values={values} log={log} label={log && line.signed ? `|${statistic.label}|` : ""}
        step={ref?.step} theme={drawing.theme.value} goTo={(step) => goToStep(store, step, ref?.backwardPass)} />
    </Section>
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
