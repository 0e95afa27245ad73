// One graph as columns, checked once when it arrives and never changed afterwards.

import { failure, success, type Result } from "../../base/result";
import { NO_SCOPE } from "../../base/vocabulary";
import type { GraphColumns } from "./graph_columns";
import { withUncalled } from "./uncalled";

export interface Graph {
  readonly hash: string;
  readonly rows: number;
  readonly columns: GraphColumns;
  readonly nodeCount: number;
  // Nodes and edges after these exist only in the other graph of a comparison, which has the hash `joint` (joint.ts).
  readonly ownNodes: number;
  readonly ownEdges: number;
  readonly joint: string; // "": nothing is joined to it
  readonly position?: Float64Array; // place of each node in forward order, if that is not its number
  readonly slotCount: number;
  readonly scopeCount: number;
  readonly edgeCount: number;
  // First row of each node; one more entry gives the number of slots.
  readonly slotOffset: Int32Array;
  readonly nodeScope: Int32Array;
  readonly scopeParent: Int32Array;
  readonly edgeSource: Int32Array;
  readonly edgeTarget: Int32Array;
  readonly edgeRow: Int32Array;
  // Edges that leave (enter) node n: outEdges[outStart[n]] .. outEdges[outStart[n + 1] - 1].
  readonly outStart: Int32Array;
  readonly outEdges: Int32Array;
  readonly inStart: Int32Array;
  readonly inEdges: Int32Array;
}

export function parseGraph(answer: GraphColumns): Result<Graph> {
  const columns = withUncalled(answer);
  const { nodes, edges, scopes } = columns;
  const nodeCount = nodes.key.length;
  const edgeSource = Int32Array.from(edges.source);
  const edgeTarget = Int32Array.from(edges.target);
  const slotOffset = offsetsOf(nodes.slot_count);
  const problem =
    outside(nodes.scope, scopes.path.length, "nodes.scope") ??
    outside(scopes.parent, scopes.path.length, "scopes.parent") ??
    outside(edges.source, nodeCount, "edges.source", 0) ??
    outside(edges.target, nodeCount, "edges.target", 0) ??
    outside(edges.row, columns.rows, "edges.row", 0) ??
    unequal(slotOffset[nodeCount]!, columns.slots.shape.length);
  if (problem !== undefined) return failure(problem);
  const out = groupEdges(edgeSource, nodeCount);
  const into = groupEdges(edgeTarget, nodeCount);
  return success({
    hash: columns.hash,
    rows: columns.rows,
    columns,
    nodeCount,
    ownNodes: nodeCount,
    ownEdges: edgeSource.length,
    joint: "",
    slotCount: columns.slots.shape.length,
    scopeCount: scopes.path.length,
    edgeCount: edgeSource.length,
    slotOffset,
    nodeScope: Int32Array.from(nodes.scope),
    scopeParent: Int32Array.from(scopes.parent),
    edgeSource,
    edgeTarget,
    edgeRow: Int32Array.from(edges.row),
    outStart: out.start,
    outEdges: out.order,
    inStart: into.start,
    inEdges: into.order,
  });
}

function outside(indices: readonly number[], end: number, where: string, low = NO_SCOPE): string | undefined {
  const bad = indices.find((index) => !(index >= low && index < end));
  return bad === undefined ? undefined : `graph: ${where} holds ${bad}, expected ${low}..${end - 1}.`;
}

function unequal(counted: number, given: number): string | undefined {
  return counted === given ? undefined : `graph: slot_count adds up to ${counted}, but there are ${given} slots.`;
}

function offsetsOf(counts: readonly number[]): Int32Array {
  const offsets = new Int32Array(counts.length + 1);
  counts.forEach((count, i) => (offsets[i + 1] = offsets[i]! + count));
  return offsets;
}

function groupEdges(end: Int32Array, nodeCount: number): { start: Int32Array; order: Int32Array } {
  const start = new Int32Array(nodeCount + 1);
  for (const node of end) start[node + 1]!++;
  for (let n = 0; n < nodeCount; n++) start[n + 1]! += start[n]!;
  const next = start.slice();
  const order = new Int32Array(end.length);
  end.forEach((node, edge) => (order[next[node]!++] = edge));
  return { start, order };
}

export function edgesOut(graph: Graph, node: number): Int32Array {
  return graph.outEdges.subarray(graph.outStart[node], graph.outStart[node + 1]);
}

export function edgesIn(graph: Graph, node: number): Int32Array {
  return graph.inEdges.subarray(graph.inStart[node], graph.inStart[node + 1]);
}

// The row of the slot that an edge starts at (its whole gradient, not the edge's share).
export function slotRowOf(graph: Graph, edge: number): number {
  return graph.slotOffset[graph.edgeSource[edge]!]! + graph.columns.edges.source_slot[edge]!;
}

const INDICES = /^(bool|u?int\d+)$/;

// Indices and masks, such as the tokens of an embedding: the norm of their values says nothing about a module.
export function isIndices({ columns, slotOffset }: Graph, node: number): boolean {
  const [from, to] = [slotOffset[node]!, slotOffset[node + 1]!];
  return from < to && columns.slots.dtype.slice(from, to).every((dtype) => INDICES.test(dtype));
}
