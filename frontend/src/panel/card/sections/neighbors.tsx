// Links to what uses a node and what it uses.

import type { JSX } from "preact";
import { edgesIn, edgesOut, type Graph } from "../../../model/recorded/graph";
import { NodeLink } from "../../controls/node_link";
import { Section } from "../../controls/section";
import type { CardProps } from "./card_parts";

const MOST = 50;

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

// Other tensors with the same variable: versions that were changed in place, or a reused name.
export function Namesakes({
  hierarchy,
  node,
  row,
  select,
}: CardProps & { readonly node: number; readonly row: number }): JSX.Element | null {
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

export function Links({
  title,
  id,
  graph,
  nodes,
  select,
}: {
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
        {nodes.slice(0, MOST).map((node) => (
          <li key={node}>
            <NodeLink graph={graph} node={node} select={select} />
          </li>
        ))}
        {nodes.length > MOST && <li class="faint">and {nodes.length - MOST} more</li>}
      </ul>
    </Section>
  );
}
