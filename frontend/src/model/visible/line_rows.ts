// Finds the rows of a record with the gradient that flows back along a line of the drawing, or with the value that flows forward.

import { edgesOut, slotRowOf, type Graph } from "../recorded/graph";
import { wordOf } from "../recorded/labels";
import type { Half } from "../recorded/record";
import { keepsElements } from "../tree/chains";
import type { VisibleEdge } from "./collapse";

type IsRead = (row: number) => boolean;

// The tensors themselves, whose values flow forward along a line.
export function slotsOf(graph: Graph, line: Pick<VisibleEdge, "edges">): readonly number[] {
  return [...new Set(line.edges.filter((edge) => edge < graph.ownEdges).map((edge) => slotRowOf(graph, edge)))];
}

// The rows of either half.
export function rowsOfHalf(graph: Graph, line: VisibleEdge, half: Half, isRead: IsRead): readonly number[] {
  return half === "value" ? slotsOf(graph, line) : rowsOf(graph, line, isRead);
}

// If a line includes all uses of a tensor, the whole gradient flows along it.
export function rowsOf(graph: Graph, line: VisibleEdge, isRead: IsRead): readonly number[] {
  const edges = graph.joint === "" ? line.edges : line.edges.filter((edge) => edge < graph.ownEdges);
  if (edges.length === 1) return [rowBehind(graph, edges[0]!, isRead)];
  const uses = new Map<number, number>();
  for (const edge of edges) uses.set(slotRowOf(graph, edge), (uses.get(slotRowOf(graph, edge)) ?? 0) + 1);
  const rows = edges.map((edge) => {
    const slot = slotRowOf(graph, edge);
    return uses.get(slot)! > 1 && usersOf(graph, edge) === uses.get(slot) ? slot : rowBehind(graph, edge, isRead);
  });
  return [...new Set(rows)];
}

function usersOf(graph: Graph, edge: number): number {
  const slot = slotRowOf(graph, edge);
  return edgesOut(graph, graph.edgeSource[edge]!).filter((other) => other < graph.ownEdges && slotRowOf(graph, other) === slot).length;
}

// A watch does not read the shares of a tensor that is used several times. But if an operation
// passes on its own gradient unchanged, that gradient is the share.
export function rowBehind(graph: Graph, edge: number, isRead: IsRead): number {
  const own = graph.edgeRow[edge]!;
  const made = graph.slotOffset[graph.edgeTarget[edge]!]!;
  return !isRead(own) && handsOn(graph, edge) && isRead(made) ? made : own;
}

// `alpha` multiplies only the share of the second summand. If a summand was expanded, its share is summed.
function handsOn(graph: Graph, edge: number): boolean {
  const { nodes, slots, edges } = graph.columns;
  const target = graph.edgeTarget[edge]!;
  if (nodes.kind[target] !== "operation" || nodes.slot_count[target] !== 1) return false;
  const word = wordOf(nodes.operation[target]!);
  const first = (word === "add" || word === "sub") && edges.target_input[edge] === 0;
  const [given, made] = [slotRowOf(graph, edge), graph.slotOffset[target]!];
  return (first || keepsElements(word)) && slots.dtype[given] === slots.dtype[made] && elements(graph, given) === elements(graph, made);
}

function elements(graph: Graph, slot: number): number {
  return graph.columns.slots.shape[slot]!.reduce((product, size) => product * size, 1);
}
