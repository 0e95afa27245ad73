// Who uses a node and what it uses, as links; and how its gradient is made up of shares.

import type { JSX } from "preact";
import { formatNumber, plainNumber } from "../base/format";
import { nameOfNode } from "../draw/caption";
import { edgesIn, edgesOut, type Graph } from "../model/graph";
import { calledAgain } from "../model/hierarchy";
import { kindLabel, operationLabel } from "../model/labels";
import { elementOf, numberAt, type RecordedStep } from "../model/record";
import { Section, type CardProps } from "./card_parts";

const MOST = 50;

export function titleOf(graph: Graph, node: number): string {
  const name = nameOfNode(graph, node);
  const operation = operationLabel(graph.columns.nodes.operation[node]!);
  return name && operation ? `${name} · ${operation}` : name || operation || kindLabel(graph.columns.nodes.kind[node]!);
}

export function Neighbors({ hierarchy, node, select }: CardProps & { readonly node: number }): JSX.Element {
  const { graph } = hierarchy;
  const producers = new Set(Array.from(edgesIn(graph, node), (edge) => graph.edgeSource[edge]!));
  const consumers = new Set(Array.from(edgesOut(graph, node), (edge) => graph.edgeTarget[edge]!));
  return (
    <>
      <Links title="Made from" id="producers" graph={graph} nodes={[...producers]} select={select} />
      <Links title="Used by" id="consumers" graph={graph} nodes={[...consumers]} select={select} />
    </>
  );
}

// Other tensors under the same variable: versions changed in place, or the name given again.
export function Namesakes({ hierarchy, node, row, select }: CardProps & { readonly node: number; readonly row: number }): JSX.Element | null {
  const { graph } = hierarchy;
  const { nodes, slots } = graph.columns;
  const name = slots.name[row];
  if (!name || nodes.kind[node] === "root") return null;
  const others: number[] = [];
  for (let other = 0; other < graph.nodeCount; other++) {
    if (other === node || nodes.kind[other] === "root" || nodes.scope[other] !== nodes.scope[node]) continue;
    if (slots.name.slice(graph.slotOffset[other], graph.slotOffset[other + 1]).includes(name)) others.push(other);
  }
  return <Links title={`Other versions of ${name}`} id="namesakes" graph={graph} nodes={others} select={select} />;
}

export function Links({ title, id, graph, nodes, select }: {
  readonly title: string;
  readonly id: string;
  readonly graph: Graph;
  readonly nodes: readonly number[];
  readonly select: (id: string) => void;
}): JSX.Element | null {
  if (nodes.length === 0) return null;
  return (
    <Section title={title} id={id}>
      <ul class="links">
        {nodes.slice(0, MOST).map((node) => <li key={node}><NodeLink graph={graph} node={node} select={select} /></li>)}
        {nodes.length > MOST && <li class="faint">and {nodes.length - MOST} more</li>}
      </ul>
    </Section>
  );
}

export function NodeLink({ graph, node, select }: {
  readonly graph: Graph;
  readonly node: number;
  readonly select: (id: string) => void;
}): JSX.Element {
  const { key, scope, operation } = graph.columns.nodes;
  const { path, call } = graph.columns.scopes;
  const inside = operation[node] === "" ? -1 : scope[node]!;
  return (
    <button type="button" class="link" data-key={key[node]} onClick={() => select(key[node]!)}>
      {titleOf(graph, node)}
      {inside !== -1 && path[inside] !== "" && <span class="faint"> {path[inside]}{calledAgain(graph, inside) ? `#${call[inside]}` : ""}</span>}
    </button>
  );
}

// Only a slot with several consumers has shares: each edge's own, and their sum.
export function Shares({ hierarchy, row, edges, record, session, select }: CardProps & {
  readonly row: number;
  readonly edges: readonly number[];
  readonly record: RecordedStep | undefined;
}): JSX.Element | null {
  const { graph } = hierarchy;
  if (edges.length < 2 || record === undefined) return null;
  const statistic = session.store.statistic.value;
  // Gradients that are one number, or one number throughout, add up visibly: -4 + 8 = 4.
  const element = (at: number): number | undefined => elementOf(record.whole.get(at)?.gradient);
  const exact = [row, ...edges.map((edge) => graph.edgeRow[edge]!)].every((at) => element(at) !== undefined);
  const read = (at: number): number | undefined => (exact ? element(at) : numberAt(record, statistic.columns[0]!, at));
  const each = (record.whole.get(row)?.gradient?.length ?? 1) > 1 ? ", each element" : "";
  return (
    <Section title={exact ? `Shares of the gradient${each}` : `Shares of the gradient, ${statistic.label}`} id="shares">
      <table class="numbers">
        <tbody>
          {edges.slice(0, MOST).map((edge) => (
            <tr key={edge} data-share={plain(read(graph.edgeRow[edge]!))}>
              <th scope="row">from <NodeLink graph={graph} node={graph.edgeTarget[edge]!} select={select} /></th>
              <td>{spelt(read(graph.edgeRow[edge]!))}</td>
            </tr>
          ))}
          <tr class="total" data-sum={plain(read(row))}>
            <th scope="row">{exact ? "sum" : "all together"}</th>
            <td>{spelt(read(row))}</td>
          </tr>
        </tbody>
      </table>
      {edges.length > MOST && <p class="faint">and {edges.length - MOST} more</p>}
    </Section>
  );
}

function spelt(value: number | undefined): string {
  return value === undefined ? "–" : formatNumber(value);
}

function plain(value: number | undefined): string {
  return value === undefined ? "none" : plainNumber(value);
}
