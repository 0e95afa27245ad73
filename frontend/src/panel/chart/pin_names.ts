// The names of the lines of charts.

import { titleOf } from "../../model/recorded/titles";
import { calledAgain } from "../../model/tree/hierarchy";
import type { Store } from "../../state/store";

// Its name in the graph with its module, or its key if this graph has no such node.
export function nameOfPin(store: Store, pin: string): string {
  const { key, slot } = nodeOfPin(pin);
  const graph = store.recorded.hierarchy.value?.graph;
  const node = graph?.columns.nodes.key.indexOf(key) ?? -1;
  if (graph === undefined || node === -1) return key;
  const title = titleOf(graph, node);
  const scope = graph.columns.nodes.kind[node] === "parameter" ? -1 : graph.columns.nodes.scope[node]!;
  const { path, call } = graph.columns.scopes;
  const where = scope === -1 || path[scope] === "" ? "" : `${path[scope]}${calledAgain(graph, scope) ? `#${call[scope]}` : ""} · `;
  return `${where}${title}${slot > 0 ? ` [${slot}]` : ""}`;
}

// The node and the output of a pin.
export function nodeOfPin(pin: string): { readonly key: string; readonly slot: number } {
  const at = pin.lastIndexOf(":");
  return { key: pin.slice(0, at), slot: Number(pin.slice(at + 1)) };
}
