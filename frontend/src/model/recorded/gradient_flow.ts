// Finds where a gradient can flow and where it cannot: cuts, seeds, and the reason if none arrived.

import { REASON_LABELS } from "../../base/vocabulary";
import { edgesIn, slotRowOf, type Graph } from "./graph";
import { halfOf, isOfParameters, type RecordedStep } from "./record";

export function requiresGrad(graph: Graph, node: number): boolean {
  return someSlot(graph, node, graph.columns.slots.requires_grad);
}

export function retainsGrad(graph: Graph, node: number): boolean {
  return someSlot(graph, node, graph.columns.slots.retains_grad);
}

function someSlot(graph: Graph, node: number, flags: readonly boolean[]): boolean {
  for (let row = graph.slotOffset[node]!; row < graph.slotOffset[node + 1]!; row++) if (flags[row]) return true;
  return false;
}

// A tensor that requires grad goes into an operation whose outputs do not: detach, argmax, a block under no_grad.
export function isCut(graph: Graph, edge: number): boolean {
  if (edge >= graph.ownEdges) return false;
  const target = graph.edgeTarget[edge]!;
  if (graph.columns.nodes.kind[target] !== "operation" || requiresGrad(graph, target)) return false;
  return graph.columns.slots.requires_grad[slotRowOf(graph, edge)] === true;
}

export function stopsGradient(graph: Graph, node: number): boolean {
  return edgesIn(graph, node).some((edge) => isCut(graph, edge));
}

export function isSeed(graph: Graph, node: number): boolean {
  return graph.columns.nodes.kind[node] === "root";
}

// Why no gradient can arrive (http_api.md, reason), in a few words.
export function wordFor(reason: string): string | undefined {
  return Object.hasOwn(REASON_LABELS, reason) ? REASON_LABELS[reason] : undefined;
}

// Whether a missing number in a record means that the tensor has no gradient. It may also mean that
// it was not read: at later stages only parameters are read, and a watch reads only what the user
// selected. Every tensor of a forward has a value.
export function saysNone(graph: Graph, node: number, record: RecordedStep | undefined): boolean {
  if (halfOf(record?.stage) === "value") return false;
  if (record === undefined || ["parameter", "leaf"].includes(graph.columns.nodes.kind[node] ?? "")) return true;
  return !isOfParameters(record) && (record.everyNSteps === 0 || !requiresGrad(graph, node));
}

// The same for the gradient along an edge: a watch does not read the shares of edges.
export function edgeSaysNone(graph: Graph, edge: number, record: RecordedStep | undefined): boolean {
  const shared = record !== undefined && record.everyNSteps > 0 && record.present[slotRowOf(graph, edge)] === 1;
  return !shared && saysNone(graph, graph.edgeSource[edge]!, record);
}

// One sentence on why a slot has no gradient (or value) at a step; undefined if it has one.
export function whyNone(graph: Graph, node: number, row: number, record: RecordedStep | undefined): string | undefined {
  if (record === undefined || record.present[row] === 1) return undefined;
  const unread = record.unread?.get(row);
  if (unread !== undefined) return `${unread.charAt(0).toUpperCase()}${unread.slice(1)}.`;
  if (halfOf(record.stage) === "value")
    return graph.columns.nodes.kind[node] === "parameter"
      ? "Its weight was not read."
      : 'Not read: a watch reads weights and what modules take in and put out, and with level="op" what each call returns.';
  if (stopsGradient(graph, node)) return `None: ${graph.columns.nodes.operation[node]} passes on no gradient.`;
  if (graph.columns.nodes.reason[node]) return undefined; // the note says it
  if (graph.columns.slots.requires_grad[row] !== true) return "None: it does not require grad.";
  if (record.noOptimizer?.has(row)) return "None: it is in no optimizer of this watch.";
  if (isOfParameters(record)) {
    const own = ["parameter", "leaf"].includes(graph.columns.nodes.kind[node]!);
    return own ? `None at the stage ${record.stage}.` : `At the stage ${record.stage} only parameters are recorded.`;
  }
  if (!saysNone(graph, node, record)) return 'Not recorded: a watch reads every node with level="op".';
  return record.hasGradients ? "None: this backward did not reach it." : "None: no backward was recorded at this step.";
}
