// The card of a line: the gradient that flows back along it at the step, and the value that flows forward.

import type { JSX } from "preact";
import { formatNumber, formatShape } from "../../base/format";
import { isComplex } from "../../model/recorded/complex";
import { whyNone } from "../../model/recorded/gradient_flow";
import { edgesOut, slotRowOf, type Graph } from "../../model/recorded/graph";
import { halfOf, nounOf, numberAt, scalarOf, type RecordedStep } from "../../model/recorded/record";
import { titleOf } from "../../model/recorded/titles";
import { rowBehind } from "../../model/visible/line_rows";
import { NodeLink } from "../controls/node_link";
import { Section } from "../controls/section";
import { Facts, type CardProps } from "./sections/card_parts";
import { halvesOf, type Halves } from "./sections/halves_of";
import { StatisticsTable, type There } from "./sections/statistics_table";

const MOST = 50;

export function EdgeCard({ session, hierarchy, select, edges: drawn }: CardProps & { readonly edges: readonly number[] }): JSX.Element {
  const { graph } = hierarchy;
  const edges = drawn.filter((edge) => edge < graph.ownEdges);
  if (edges.length === 0)
    return (
      <>
        <h2>
          {drawn.length} {drawn.length === 1 ? "line" : "lines"}
        </h2>
        <p class="note">Only on the other side of the comparison.</p>
      </>
    );
  const halves = halvesOf(session.store, graph);
  const half = session.store.shown.half.value;
  const record = halves[half];
  const only = edges.length === 1 ? edges[0] : undefined;
  if (only !== undefined) return <OneEdge session={session} graph={graph} halves={halves} edge={only} select={select} />;
  const statistic = session.store.shown.statistic.value;
  return (
    <>
      <h2>
        {edges.length} tensors <span class="kind">one line</span>
      </h2>
      <Section title={`${nounOf(record?.stage)} of each, ${statistic.label}`} id="edge-shares">
        <table class="numbers">
          <tbody>
            {edges.slice(0, MOST).map((edge) => {
              const value = record && numberAt(record, statistic.columns[0]!, rowAt(graph, edge, record));
              return (
                <tr key={edge}>
                  <th scope="row">
                    <NodeLink graph={graph} node={graph.edgeSource[edge]!} select={select} /> →{" "}
                    <NodeLink graph={graph} node={graph.edgeTarget[edge]!} select={select} />
                  </th>
                  <td>{value === undefined ? "–" : formatNumber(value)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
        {edges.length > MOST && <p class="faint">and {edges.length - MOST} more</p>}
      </Section>
    </>
  );
}

function thereOf({ store }: CardProps["session"], edge: number): readonly There[] | undefined {
  const comparison = store.compare.comparison.value;
  return comparison?.sides.map(({ record, hierarchy, joined }) => {
    const other = joined.edges[edge]!;
    return { record, row: other === -1 ? -1 : rowAt(hierarchy.graph, other, record) };
  });
}

// The row of its gradient, or that of the value.
function rowAt(graph: Graph, edge: number, record: RecordedStep | undefined): number {
  if (halfOf(record?.stage) === "value") return slotRowOf(graph, edge);
  return rowBehind(graph, edge, (row) => record?.present[row] === 1);
}

function OneEdge({
  session,
  graph,
  halves,
  edge,
  select,
}: {
  readonly session: CardProps["session"];
  readonly graph: Graph;
  readonly halves: Halves;
  readonly edge: number;
  readonly select: (id: string) => void;
}): JSX.Element {
  const [source, target, row, slot] = [
    graph.edgeSource[edge]!,
    graph.edgeTarget[edge]!,
    rowAt(graph, edge, halves.gradient),
    slotRowOf(graph, edge),
  ];
  const users = edgesOut(graph, source).filter((other) => other < graph.ownEdges && slotRowOf(graph, other) === slot).length;
  const element = scalarOf(halves.gradient?.whole.get(row)?.gradient);
  const value = scalarOf(halves.value?.whole.get(slot)?.value);
  return (
    <>
      <h2>
        {titleOf(graph, source)} → {titleOf(graph, target)}
      </h2>
      <Facts
        facts={[
          ["from", <NodeLink graph={graph} node={source} select={select} />],
          ["to", <NodeLink graph={graph} node={target} select={select} />],
          ["shape", formatShape(graph.columns.slots.shape[slot] ?? [])],
          ...(value === undefined ? [] : [["value", formatNumber(value)] as const]),
          ...(element === undefined ? [] : [["gradient", formatNumber(element)] as const]),
        ]}
      />
      <p class="faint" data-testid="edge-share">
        {users > 1
          ? `One of the ${users} shares of the gradient flows back along this line.`
          : "The whole gradient flows back along this line, because nothing else uses the tensor."}
      </p>
      <StatisticsTable
        halves={halves}
        half={session.store.shown.half.value}
        rows={{ gradient: row, value: slot }}
        kind={graph.columns.nodes.kind[source]}
        statistic={session.store.shown.statistic.value}
        why={{ gradient: undefined, value: whyNone(graph, source, slot, halves.value) }}
        there={thereOf(session, edge)}
        complex={isComplex(graph, slot)}
      />
    </>
  );
}
