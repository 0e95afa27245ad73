// Finds the path from a box to the loss and back to the leaves: everything that depends on the box,
// and everything it depends on.

import type { Graph } from "../recorded/graph";
import type { Hierarchy } from "../tree/hierarchy";
import type { VisibleGraph } from "./collapse";

export interface Lit {
  readonly boxes: Uint8Array; // 1: on the path
  readonly lines: Uint8Array;
}

// For a closed group, the path includes all lines that enter or leave it; for an open group there
// is no path. A line that leads to no loss or output is not on the path.
export function lightPath({ graph }: Hierarchy, visible: VisibleGraph, box: number): Lit | undefined {
  const { boxes, edges: lines } = visible;
  if (boxes[box] === undefined || boxes[box].open) return undefined;
  const reaches = reachesRoot(graph);
  const after = new Uint8Array(graph.nodeCount);
  const before = new Uint8Array(graph.nodeCount);
  for (const { source, target, edges } of lines) {
    for (const edge of edges) {
      if (source === box && reaches[graph.edgeTarget[edge]!] === 1) after[graph.edgeTarget[edge]!] = 1;
      if (target === box) before[graph.edgeSource[edge]!] = 1;
    }
  }
  spread(after, graph.outStart, graph.outEdges, graph.edgeTarget, reaches);
  spread(before, graph.inStart, graph.inEdges, graph.edgeSource);
  const isLit = (edge: number, starts: boolean, ends: boolean): boolean => {
    const [source, target] = [graph.edgeSource[edge]!, graph.edgeTarget[edge]!];
    return ends || before[target] === 1 || ((starts || after[source] === 1) && reaches[target] === 1);
  };
  const lit: Lit = { boxes: new Uint8Array(boxes.length), lines: new Uint8Array(lines.length) };
  lit.boxes[box] = 1;
  lines.forEach(({ source, target, edges }, line) => {
    if (!edges.some((edge) => isLit(edge, source === box, target === box))) return;
    lit.lines[line] = lit.boxes[source] = lit.boxes[target] = 1;
  });
  return lit;
}

const known = new WeakMap<Graph, Uint8Array>();

// 1 for each node from which a loss or output can be reached; 1 for all nodes if there is no loss or output.
function reachesRoot(graph: Graph): Uint8Array {
  let reaches = known.get(graph);
  if (reaches !== undefined) return reaches;
  reaches = Uint8Array.from(graph.columns.nodes.kind, (kind) => Number(kind === "root"));
  if (reaches.includes(1)) spread(reaches, graph.inStart, graph.inEdges, graph.edgeSource);
  else reaches.fill(1);
  known.set(graph, reaches);
  return reaches;
}

// Marks everything that can be reached from what is marked.
function spread(marked: Uint8Array, start: Int32Array, edges: Int32Array, end: Int32Array, within?: Uint8Array): void {
  const left: number[] = [];
  marked.forEach((one, node) => one === 1 && left.push(node));
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    for (let at = start[node]!; at < start[node + 1]!; at++) {
      const next = end[edges[at]!]!;
      if (marked[next] === 1 || within?.[next] === 0) continue;
      marked[next] = 1;
      left.push(next);
    }
  }
}
