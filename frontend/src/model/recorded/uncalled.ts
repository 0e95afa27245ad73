// Modules that were not called get their own boxes if they have many parameters. So a model that
// uses one of a thousand parts has one row for each module, not for each parameter.

import { NO_SCOPE } from "../../base/vocabulary";
import type { GraphColumns } from "./graph_columns";

// Fewer parameters are drawn one by one.
export const UNCALLED_FROM = 17;

export const NOT_CALLED = "not called";

export function withUncalled(columns: GraphColumns): GraphColumns {
  const { nodes, scopes, edges } = columns;
  const used = new Set(edges.source);
  const called = new Map<string, number>();
  scopes.path.forEach((path, scope) => called.has(path) || called.set(path, scope));
  const apart = nodes.name.flatMap((name, node) =>
    nodes.kind[node] === "parameter" && !used.has(node) && name.includes(".") && !called.has(ownerOf(name)) ? [node] : [],
  );
  if (apart.length < UNCALLED_FROM) return columns;
  const path = [...scopes.path],
    parent = [...scopes.parent],
    scope = [...nodes.scope];
  const scopeOf = (module: string): number => {
    const known = called.get(module);
    if (known !== undefined || module === "") return known ?? NO_SCOPE;
    const outer = scopeOf(ownerOf(module));
    parent.push(outer);
    called.set(module, path.push(module) - 1);
    return path.length - 1;
  };
  for (const node of apart) scope[node] = scopeOf(ownerOf(nodes.name[node]!));
  const more = path.length - scopes.path.length;
  return {
    ...columns,
    nodes: { ...nodes, scope },
    scopes: {
      path,
      parent,
      call: [...scopes.call, ...Array<number>(more).fill(0)],
      module: [...scopes.module, ...Array<string>(more).fill(NOT_CALLED)],
    },
  };
}

function ownerOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf(".")));
}
