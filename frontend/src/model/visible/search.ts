// Finds nodes and modules by any part of their name or operation.

import type { Graph } from "../recorded/graph";
import { calledAgain, foldedAround, type Hierarchy } from "../tree/hierarchy";
import { NO_SCOPE } from "../../base/vocabulary";

export interface Hit {
  readonly id: string;
  readonly group: number; // -1: a node
  readonly node: number; // -1: a group
  readonly where: string; // full path, so that no two are the same
}

// At most `limit`, modules first.
export function search(hierarchy: Hierarchy, text: string, limit: number): readonly Hit[] {
  const { graph } = hierarchy;
  const hits: Hit[] = [];
  hierarchy.groups.forEach(({ id, kind, title, subtitle, folds, scope }, group) => {
    // A module with one operation is found as this operation. Of a chain, the operations are found.
    if (hits.length >= limit || folds !== -1 || kind === "chain") return;
    if (!`${id} ${title} ${subtitle}`.toLowerCase().includes(text)) return;
    hits.push({ id, group, node: -1, where: scope === NO_SCOPE ? "" : pathOf(graph, scope) });
  });
  const { key, name, operation } = graph.columns.nodes;
  for (let node = 0; node < key.length && hits.length < limit; node++) {
    const around = foldedAround(hierarchy, node);
    const module = around === undefined ? "" : hierarchy.groups[around]!.subtitle;
    if (!`${key[node]} ${name[node]} ${operation[node]} ${module}`.toLowerCase().includes(text)) continue;
    hits.push({ id: key[node]!, group: -1, node, where: key[node]! });
  }
  return hits;
}

function pathOf(graph: Graph, scope: number): string {
  const { path, call } = graph.columns.scopes;
  return `${path[scope]}${calledAgain(graph, scope) ? `#${call[scope]}` : ""}`;
}
