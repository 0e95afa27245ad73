// How each use of a tensor contributes to its gradient, at the step and over the steps.

import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import type { NodeSeries } from "../../../api/parse";
import { followLatest } from "../../../base/follow_latest";
import { formatNumber, plainNumber } from "../../../base/format";
import { success } from "../../../base/result";
import type { ChartLine } from "../../../draw/charts/chart_line";
import { lineColor } from "../../../draw/style/line_colors";
import type { Graph } from "../../../model/recorded/graph";
import { elementOf, numberAt, type RecordedStep } from "../../../model/recorded/record";
import { BACKWARD } from "../../../model/recorded/run";
import { distinctTitles } from "../../../model/recorded/titles";
import { rowBehind } from "../../../model/visible/line_rows";
import { goToStep } from "../../../state/actions";
import { Chart } from "../../chart/chart";
import { ChartKey } from "../../chart/chart_key";
import { pointsOf } from "../../chart/lines";
import { NodeLink } from "../../controls/node_link";
import { Section } from "../../controls/section";
import type { CardProps } from "./card_parts";

const MOST = 50;
const MOST_LINES = 10;

interface SharesProps extends CardProps {
  readonly row: number;
  readonly edges: readonly number[]; // that leave the slot
  readonly record: RecordedStep | undefined;
}

// Only a slot with several consumers has shares: one for each edge, and their sum.
export function Shares(props: SharesProps): JSX.Element | null {
  const {
    hierarchy: { graph },
    row,
    edges,
    record,
    session,
    select,
  } = props;
  if (edges.length < 2 || record === undefined) return null;
  const statistic = session.store.shown.statistic.value;
  const rowOf = (edge: number): number => rowAt(graph, edge, record);
  // If each gradient is one number (or equal everywhere), the sum is written out: -4 + 8 = 4.
  const element = (at: number): number | undefined => elementOf(record.whole.get(at)?.gradient);
  const exact = [row, ...edges.map((edge) => rowOf(edge))].every((at) => element(at) !== undefined);
  const read = (at: number): number | undefined => (exact ? element(at) : numberAt(record, statistic.columns[0]!, at));
  // A watch records shares of few tensors.
  const some = edges.some((edge) => read(rowOf(edge)) !== undefined);
  const each = (record.whole.get(row)?.gradient?.length ?? 1) > 1 ? ", each element" : "";
  const titles = distinctTitles(
    graph,
    edges.map((edge) => graph.edgeTarget[edge]!),
  );
  const parts = partsOf(edges.map((edge) => numberAt(record, "l2_norm", rowOf(edge))));
  const what =
    graph.columns.nodes.kind[graph.edgeSource[edges[0]!]!] === "parameter" ? "Shares of the gradient by use" : "Shares of the gradient";
  return (
    <>
      {some && (
        <Section title={exact ? `${what}${each}` : `${what}, ${statistic.label}`} id="shares">
          <table class="numbers">
            <tbody>
              {edges.slice(0, MOST).map((edge, i) => (
                <tr key={edge} data-share={plain(read(rowOf(edge)))} data-part={plain(parts?.[i])}>
                  <th scope="row">
                    from <NodeLink graph={graph} node={graph.edgeTarget[edge]!} select={select} title={titles[i]!} />
                  </th>
                  <td>{spelt(read(rowOf(edge)))}</td>
                  {parts !== undefined && (
                    <td class="part" title="This share's part of the sum of all shares' L2 norms">
                      {percent(parts[i])}
                    </td>
                  )}
                </tr>
              ))}
              <tr class="total" data-sum={plain(read(row))}>
                <th scope="row">{exact ? "sum" : "all together"}</th>
                <td>{spelt(read(row))}</td>
                {parts !== undefined && <td />}
              </tr>
            </tbody>
          </table>
          {edges.length > MOST && <p class="faint">and {edges.length - MOST} more</p>}
        </Section>
      )}
      <OverSteps {...props} titles={titles} />
    </>
  );
}

// If the share itself was not read, this is the gradient that the operation passes on unchanged.
function rowAt(graph: Graph, edge: number, record: RecordedStep | undefined): number {
  return rowBehind(graph, edge, (row) => record?.present[row] === 1);
}

// Each share's part of the sum of all norms; undefined if none was recorded.
export function partsOf(norms: readonly (number | null | undefined)[]): readonly (number | undefined)[] | undefined {
  const sum = norms.reduce<number>((all, norm) => all + (norm ?? 0), 0);
  return sum > 0 ? norms.map((norm) => (norm === null || norm === undefined ? undefined : norm / sum)) : undefined;
}

function OverSteps({
  session,
  drawing,
  hierarchy: { graph },
  edges,
  record,
  titles,
}: SharesProps & { readonly titles: readonly string[] }): JSX.Element | null {
  const { store } = session;
  const [pointed, pointAt] = useState<number | undefined>(undefined);
  const shown = edges.slice(0, MOST_LINES);
  const series = useEdges(
    session,
    shown.map((edge) => rowAt(graph, edge, record)),
  );
  const ref = store.place.ref.value;
  if (series === undefined || ref === undefined) return null;
  const lines = shareLines(shown, titles, series, ref.stage === BACKWARD ? ref.backwardPass : 0, (i) => lineColor(i, drawing.theme.value));
  if (lines.every(({ values }) => values.filter((value) => value !== null).length < 2)) return null;
  return (
    <Section title="Part of each share over steps, by L2 norm" id="shares-history">
      <Chart
        id="shares-chart"
        lines={lines}
        log={false}
        label=""
        step={ref.step}
        theme={drawing.theme.value}
        pointAt={pointAt}
        goTo={(step) => goToStep(store, step, ref.backwardPass)}
      />
      <ChartKey id="shares-key" lines={lines} step={ref.step} pointed={pointed} />
    </Section>
  );
}

function shareLines(
  edges: readonly number[],
  titles: readonly string[],
  series: readonly NodeSeries[],
  pass: number,
  colorOf: (i: number) => string,
): readonly ChartLine[] {
  const norms = series.map((one) => pointsOf(one, { stage: BACKWARD, columns: ["l2_norm"] }, pass));
  const steps = norms[0]?.steps ?? [];
  const parts = steps.map((_, at) => partsOf(norms.map(({ values }) => values[at])));
  return edges.map((edge, i) => ({
    id: String(edge),
    label: titles[i]!,
    color: colorOf(i),
    steps,
    values: parts.map((one) => one?.[i] ?? null),
  }));
}

// Returns all of them, or nothing.
function useEdges(session: CardProps["session"], rows: readonly number[]): readonly NodeSeries[] | undefined {
  const { store, client } = session;
  const [series, setSeries] = useState<readonly NodeSeries[] | undefined>(undefined);
  const [run, tag, shown] = [store.place.run.value?.run, store.place.tag.value, store.recorded.hierarchy.value?.graph.hash];
  const hash = shown === store.place.hash.value ? shown : undefined;
  useEffect(() => {
    if (run === undefined || tag === undefined || hash === undefined) return undefined;
    const ask = async () => success(await Promise.all(rows.map((row) => client.node(run, tag.tag, hash, row))));
    return followLatest(
      () => [],
      ask,
      (replies) => {
        const read = replies.ok ? replies.value.flatMap((reply) => (reply.ok ? [reply.value] : [])) : [];
        setSeries(read.length === rows.length ? read : undefined);
      },
    );
  }, [run, tag, hash, rows.join()]);
  return series;
}

function spelt(value: number | undefined): string {
  return value === undefined ? "–" : formatNumber(value);
}

function percent(part: number | undefined): string {
  return part === undefined ? "–" : `${(100 * part).toFixed(part < 0.1 ? 1 : 0)} %`;
}

function plain(value: number | undefined): string {
  return value === undefined ? "none" : plainNumber(value);
}
