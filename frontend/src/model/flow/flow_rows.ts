// The rows of the heat map: the open part of the tree of modules and nodes, in forward order.

import { asItem, type Hierarchy } from "../tree/hierarchy";

export const START_ROWS = 40;

export interface FlowRow {
  readonly id: string; // id of the group or key of the node, as in the graph's selection
  readonly kind: "node" | "group";
  readonly node: number; // -1 for groups
  readonly group: number; // -1 for nodes
  readonly module: number; // group that a node is folded with, -1 for none
  readonly depth: number;
  readonly open: boolean;
  readonly isFlat?: true; // outside its tree, so it is named with the modules around it
}

// The row of one node or group alone; undefined: the graph has none.
export function rowFor({ graph, groupOf, groups }: Hierarchy, id: string): FlowRow | undefined {
  const alone = { depth: 0, open: false, isFlat: true } as const;
  const group = groupOf.get(id);
  if (group !== undefined && groups[group]!.kind !== "chain" && groups[group]!.folds === -1)
    return { id, kind: "group", node: -1, group, module: -1, ...alone };
  const node = graph.columns.nodes.key.indexOf(id);
  if (node === -1) return undefined;
  return { id, kind: "node", node, group: -1, module: groups.findIndex(({ folds }) => folds === node), ...alone };
}

// Numbers are kept by entity: first the nodes, then the groups.
export function entityOf({ graph }: Hierarchy, row: FlowRow): number {
  return row.group === -1 ? row.node : graph.nodeCount + row.group;
}

export function entityCount({ graph, groups }: Hierarchy): number {
  return graph.nodeCount + groups.length;
}

// `shown`, by entity: 0 if it has nothing to show.
export function listRows(hierarchy: Hierarchy, open: ReadonlySet<string>, shown: Uint8Array): readonly FlowRow[] {
  const rows: FlowRow[] = [];
  const { key } = hierarchy.graph.columns.nodes;
  const addNode = (item: number, depth: number, module: number): void => {
    const node = hierarchy.itemNode[item]!;
    // A node that is drawn several times has one row, at its first use.
    if (item !== node || shown[node] === 0) return;
    rows.push({ id: key[node]!, kind: "node", node, group: -1, module, depth, open: false });
  };
  const visit = (child: number, depth: number): void => {
    if (child < 0) return addNode(asItem(child), depth, -1);
    const { id, kind, folds, children } = hierarchy.groups[child]!;
    // Chains are folded only in the drawing, not here.
    if (kind === "chain") {
      for (const inner of children) visit(inner, depth);
      return;
    }
    if (shown[hierarchy.graph.nodeCount + child] === 0) return;
    if (folds !== -1) return addNode(folds, depth, child);
    const isOpen = open.has(id);
    rows.push({ id, kind: "group", node: -1, group: child, module: -1, depth, open: isOpen });
    if (isOpen) for (const inner of children) visit(inner, depth + 1);
  };
  for (const child of hierarchy.top) visit(child, 0);
  return rows;
}

// The row that shows a node or group: its own, or that of the closed group around it; -1: none.
export function rowShowing(hierarchy: Hierarchy, rows: readonly FlowRow[], id: string | undefined): number {
  if (id === undefined) return -1;
  const own = rows.findIndex((row) => row.id === id);
  if (own !== -1) return own;
  const around = pathTo(hierarchy, id).reverse();
  for (const outer of around) {
    const at = rows.findIndex((row) => row.id === outer);
    if (at !== -1) return at;
  }
  return -1;
}

// Groups around a node or group, outermost first, then the group itself if it has rows inside.
export function pathTo(hierarchy: Hierarchy, id: string): string[] {
  const { groups, groupOf, itemGroup, graph } = hierarchy;
  const group = groupOf.get(id);
  const folded = group !== undefined && groups[group]!.folds !== -1;
  if (folded) return [...pathOf(hierarchy, groups[group]!.parent), graph.columns.nodes.key[groups[group]!.folds]!];
  if (group !== undefined) return pathOf(hierarchy, group);
  const node = graph.columns.nodes.key.indexOf(id);
  if (node === -1) return [];
  const around = itemGroup[node]!;
  return pathOf(hierarchy, around !== -1 && groups[around]!.folds !== -1 ? groups[around]!.parent : around);
}

function pathOf({ groups }: Hierarchy, group: number): string[] {
  const path: string[] = [];
  for (let at = group; at !== -1; at = groups[at]!.parent) if (groups[at]!.kind !== "chain") path.unshift(groups[at]!.id);
  return path;
}

// The groups that must be open for a node or group to have its own row.
export function openedFor(hierarchy: Hierarchy, open: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const around = pathTo(hierarchy, id).filter((outer) => outer !== id && hierarchy.groupOf.has(outer));
  return around.every((outer) => open.has(outer)) ? open : new Set([...open, ...around]);
}

export function everyGroup({ groups }: Hierarchy): ReadonlySet<string> {
  return new Set(groups.filter(({ folds, kind }) => folds === -1 && kind !== "chain").map(({ id }) => id));
}
