// Who uses a node and what it uses, as links.

import type { JSX } from "preact";
import { shorten } from "../../../base/format";
import { nameOfNode } from "../../../draw/graph/caption";
import { edgesIn, edgesOut, type Graph } from "../../../model/recorded/graph";
import { calledAgain } from "../../../model/tree/hierarchy";
import { kindLabel, operationLabel } from "../../../model/recorded/labels";
import { Section, type CardProps } from "./card_parts";

const MOST = 50;

export function titleOf(graph: Graph, node: number): string {
  const name = nameOfNode(graph, node);
  const operation = operationLabel(graph.columns.nodes.operation[node]!);
  return name && operation ? `${name} · ${operation}` : name || operation || kindLabel(graph.columns.nodes.kind[node]!);
}

// Titles that tell nodes apart: where two are alike, with the call of the module, else with the number in the key.
export function distinctTitles(graph: Graph, nodes: readonly number[]): readonly string[] {
  const keys = nodes.map((node) => graph.columns.nodes.key[node]!);
  const insides = keys.map((key) => key.slice(0, Math.max(0, key.lastIndexOf("/"))));
  const named = toldApart(nodes.map((node) => titleOf(graph, node)), insides.map((inside) => (inside === "" || inside.startsWith("#") ? "" : ` (${shorten(inside, 24)})`)));
  return toldApart(named, keys.map((key) => ` ${/\.(\d+)$/.exec(key)?.[1] ?? ""}`));
}

function toldApart(titles: readonly string[], more: readonly string[]): readonly string[] {
  return titles.map((title, i) => (titles.indexOf(title) === titles.lastIndexOf(title) ? title : `${title}${more[i]}`));
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

export function NodeLink({ graph, node, select, title }: {
  readonly graph: Graph;
  readonly node: number;
  readonly select: (id: string) => void;
  readonly title?: string;
}): JSX.Element {
  const { key, scope, operation } = graph.columns.nodes;
  const { path, call } = graph.columns.scopes;
  const inside = operation[node] === "" ? -1 : scope[node]!;
  return (
    <button type="button" class="link" data-key={key[node]} onClick={() => select(key[node]!)}>
      {title ?? titleOf(graph, node)}
      {inside !== -1 && path[inside] !== "" && <span class="faint"> {path[inside]}{calledAgain(graph, inside) ? `#${call[inside]}` : ""}</span>}
    </button>
  );
}
