// Decides where each node is drawn: in which scope, and whether once or next to each consumer.
//
// If a tensor that is used everywhere (tied weights, parameters of an LSTM) is drawn once, long
// edges cross the whole graph and the layout takes very long. Therefore, if there are more than
// COPY_ABOVE consumers, each gets its own copy. The user can reverse this for single tensors.

import { edgesOut, type Graph } from "../recorded/graph";
import { NO_SCOPE } from "../../base/vocabulary";

export const COPY_ABOVE = 8;

export interface Placement {
  // Items 0..nodeCount-1 are the nodes; the rest are further copies.
  readonly itemNode: Int32Array;
  readonly copied: Uint8Array; // 1 for nodes that are drawn beside each user
  readonly itemScope: Int32Array;
  // The place in forward order. Sources come just before their first consumer.
  readonly itemPosition: Float64Array;
  // Item at which each edge starts; it ends at the item of its target node.
  readonly edgeSourceItem: Int32Array;
}

// How many distinct consumers a tensor has; 0 for an operation. With more than one it can be drawn
// once or next to each.
export function usesOf(graph: Graph, node: number): number {
  return isSource(graph, node) ? consumersOf(graph, node).length : 0;
}

function consumersOf(graph: Graph, node: number): readonly number[] {
  return [...new Set(Array.from(edgesOut(graph, node), (edge) => graph.edgeTarget[edge]!))].sort(
    (a, b) => placeOf(graph, a) - placeOf(graph, b),
  );
}

function placeOf({ position }: Graph, node: number): number {
  return position?.[node] ?? node;
}

export function placeNodes(graph: Graph, turned: ReadonlySet<string> = new Set()): Placement {
  const nodes: number[] = Array.from({ length: graph.nodeCount }, (_, n) => n);
  const scopes: number[] = Array.from(graph.nodeScope);
  const positions: number[] = nodes.map((node) => placeOf(graph, node));
  const edgeSourceItem = graph.edgeSource.slice();
  const copied = new Uint8Array(graph.nodeCount);
  const depth = scopeDepths(graph.scopeParent);
  for (let node = 0; node < graph.nodeCount; node++) {
    if (!isSource(graph, node)) continue;
    const consumers = consumersOf(graph, node);
    if (consumers.length === 0) continue;
    positions[node] = placeOf(graph, consumers[0]!) - 0.5;
    if (consumers.length > 1 && consumers.length > COPY_ABOVE !== turned.has(graph.columns.nodes.key[node]!)) {
      copied[node] = 1;
      const itemOf = new Map<number, number>();
      consumers.forEach((consumer, i) => {
        const item = i === 0 ? node : nodes.push(node) - 1;
        scopes[item] = graph.nodeScope[consumer]!;
        positions[item] = placeOf(graph, consumer) - 0.5;
        itemOf.set(consumer, item);
      });
      for (const edge of edgesOut(graph, node)) edgeSourceItem[edge] = itemOf.get(graph.edgeTarget[edge]!)!;
    } else if (graph.columns.nodes.kind[node] !== "input") {
      scopes[node] = consumers.map((consumer) => graph.nodeScope[consumer]!).reduce((one, other) => commonScope(graph, depth, one, other));
    }
  }
  return {
    itemNode: Int32Array.from(nodes),
    copied,
    itemScope: Int32Array.from(scopes),
    itemPosition: Float64Array.from(positions),
    edgeSourceItem,
  };
}

function isSource(graph: Graph, node: number): boolean {
  const kind = graph.columns.nodes.kind[node];
  return kind !== "operation" && kind !== "root" && graph.inStart[node] === graph.inStart[node + 1];
}

// Depth of each scope. A cycle of parents (in a malformed graph) is cut at its end.
export function scopeDepths(parent: Int32Array): Int32Array {
  const depth = new Int32Array(parent.length).fill(-1);
  for (let scope = 0; scope < parent.length; scope++) {
    const chain: number[] = [];
    let at = scope;
    while (at !== NO_SCOPE && depth[at] === -1 && chain.length <= parent.length) {
      depth[at] = -2;
      chain.push(at);
      at = parent[at]!;
    }
    let base = at === NO_SCOPE || depth[at]! < 0 ? 0 : depth[at]! + 1;
    for (const link of chain.reverse()) depth[link] = base++;
  }
  return depth;
}

// The innermost scope around two scopes. A cut cycle of parents ends at the top.
export function commonScope(graph: Graph, depth: Int32Array, one: number, other: number): number {
  while (one !== other && one !== NO_SCOPE && other !== NO_SCOPE) {
    const [a, b] = [depth[one]!, depth[other]!];
    if (a === 0 && b === 0) return NO_SCOPE;
    if (a >= b) one = graph.scopeParent[one]!;
    else other = graph.scopeParent[other]!;
  }
  return one === other ? one : NO_SCOPE;
}
