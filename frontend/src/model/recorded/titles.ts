// The titles of nodes: the names that were found for them, made unique if they are equal.

import { shorten } from "../../base/format";
import type { Graph } from "./graph";
import { kindLabel, operationLabel } from "./labels";

// The name of a variable if one was found, or else the name of the node unless it only repeats the operation.
export function nameOfNode(graph: Graph, node: number): string {
  const { name, operation } = graph.columns.nodes;
  const slots = graph.columns.slots.name.slice(graph.slotOffset[node], graph.slotOffset[node + 1]).filter((slot) => slot !== "");
  // Outputs of one operation, as in q, k, v = x.chunk(3).
  if (slots.length > 0) return slots.length > 3 ? `${slots.slice(0, 3).join(", ")}, …` : slots.join(", ");
  const own = name[node]!;
  if (operation[node] === "") return own;
  // "l.0/addmm.1": module, operation, ordinal.
  const last = own.slice(own.lastIndexOf("/") + 1).replace(/[._]\d+$/, "");
  return last === operation[node] || last === operationLabel(operation[node]!) ? "" : own;
}

export function titleOf(graph: Graph, node: number): string {
  const name = nameOfNode(graph, node);
  const operation = operationLabel(graph.columns.nodes.operation[node]!);
  return name && operation ? `${name} · ${operation}` : name || operation || kindLabel(graph.columns.nodes.kind[node]!);
}

// Unique titles: equal ones get the call of the module, or else the number in the key.
export function distinctTitles(graph: Graph, nodes: readonly number[]): readonly string[] {
  const keys = nodes.map((node) => graph.columns.nodes.key[node]!);
  const insides = keys.map((key) => key.slice(0, Math.max(0, key.lastIndexOf("/"))));
  const named = toldApart(
    nodes.map((node) => titleOf(graph, node)),
    insides.map((inside) => (inside === "" || inside.startsWith("#") ? "" : ` (${shorten(inside, 24)})`)),
  );
  return toldApart(
    named,
    keys.map((key) => ` ${/\.(\d+)$/.exec(key)?.[1] ?? ""}`),
  );
}

function toldApart(titles: readonly string[], more: readonly string[]): readonly string[] {
  return titles.map((title, i) => (titles.indexOf(title) === titles.lastIndexOf(title) ? title : `${title}${more[i]}`));
}
