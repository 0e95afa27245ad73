// What is on the screen for a given set of open groups: boxes and merged edges.

import { asItem, type Hierarchy } from "./hierarchy";

export const START_BOXES = 60;
export const MOST_BOXES = 500;

export interface Box {
  readonly id: string;
  readonly kind: "node" | "group";
  readonly item: number; // -1 for groups
  readonly node: number; // -1 for groups
  readonly group: number; // -1 for nodes
  readonly module: number; // group that a node is folded with, -1 for none
  readonly open: boolean;
  readonly parent: number; // index of the surrounding box, less than the box's own, or -1
  readonly depth: number;
}

export interface VisibleEdge {
  readonly source: number; // box
  readonly target: number; // box
  readonly edges: readonly number[]; // edges of the graph that it stands for
}

export interface VisibleGraph {
  readonly boxes: readonly Box[];
  readonly edges: readonly VisibleEdge[];
  // First box that shows each node, -1 where it is inside a closed group.
  readonly boxOfNode: Int32Array;
}

export function showGraph(hierarchy: Hierarchy, open: ReadonlySet<number>): VisibleGraph {
  const boxes: Box[] = [];
  const groupBox = new Int32Array(hierarchy.groups.length).fill(-1);
  const itemBox = new Int32Array(hierarchy.itemNode.length).fill(-1);
  const visit = (child: number, parent: number, depth: number): void => {
    const index = boxes.length;
    if (child < 0) {
      itemBox[asItem(child)] = index;
      boxes.push(nodeBox(hierarchy, asItem(child), parent, depth, -1));
      return;
    }
    const group = hierarchy.groups[child]!;
    const isOpen = open.has(child);
    if (group.folds !== -1 && !isOpen) {
      itemBox[group.folds] = index;
      boxes.push(nodeBox(hierarchy, group.folds, parent, depth, child));
      return;
    }
    groupBox[child] = index;
    boxes.push({ id: group.id, kind: "group", item: -1, node: -1, group: child, module: -1, open: isOpen, parent, depth });
    if (isOpen) for (const inner of group.children) visit(inner, index, depth + 1);
  };
  for (const child of hierarchy.top) visit(child, -1, 0);
  const shownBy = nearestBox(hierarchy, groupBox, itemBox);
  return {
    boxes,
    edges: mergeEdges(hierarchy, boxes, shownBy),
    boxOfNode: itemBox.subarray(0, hierarchy.graph.nodeCount),
  };
}

function nodeBox(hierarchy: Hierarchy, item: number, parent: number, depth: number, module: number): Box {
  const node = hierarchy.itemNode[item]!;
  const key = hierarchy.graph.columns.nodes.key[node]!;
  const id = item === node ? key : `${key} (copy ${item})`;
  return { id, kind: "node", item, node, group: -1, module, open: false, parent, depth };
}

// Box that stands for each item: its own, or the closed group around it.
function nearestBox(hierarchy: Hierarchy, groupBox: Int32Array, itemBox: Int32Array): Int32Array {
  const groupShown = groupBox.slice();
  hierarchy.groups.forEach(({ parent }, group) => {
    if (groupShown[group] === -1 && parent !== -1) groupShown[group] = groupShown[parent]!;
  });
  return itemBox.map((box, item) => (box !== -1 ? box : groupShown[hierarchy.itemGroup[item]!]!));
}

function mergeEdges(hierarchy: Hierarchy, boxes: readonly Box[], shownBy: Int32Array): readonly VisibleEdge[] {
  const { edgeTarget, edgeCount } = hierarchy.graph;
  const merged = new Map<number, number[]>();
  const result: VisibleEdge[] = [];
  for (let edge = 0; edge < edgeCount; edge++) {
    const source = shownBy[hierarchy.edgeSourceItem[edge]!]!;
    const target = shownBy[edgeTarget[edge]!]!;
    if (source === target) continue;
    // Two nodes keep each of their edges (x * x uses x twice); with a group they are one.
    const alone = boxes[source]!.kind === "node" && boxes[target]!.kind === "node";
    const key = source * boxes.length + target;
    const known = alone ? undefined : merged.get(key);
    if (known !== undefined) {
      known.push(edge);
      continue;
    }
    const edges = [edge];
    if (!alone) merged.set(key, edges);
    result.push({ source, target, edges });
  }
  return result;
}

export function countBoxes(hierarchy: Hierarchy, open: ReadonlySet<number>): number {
  let count = hierarchy.top.length;
  hierarchy.groups.forEach(({ parent, children }, group) => {
    if (open.has(group) && isReached(hierarchy, open, parent)) count += children.length;
  });
  return count;
}

function isReached(hierarchy: Hierarchy, open: ReadonlySet<number>, group: number): boolean {
  for (let at = group; at !== -1; at = hierarchy.groups[at]!.parent) if (!open.has(at)) return false;
  return true;
}

// Opens level by level as long as at most `limit` boxes are shown. Equal siblings
// open together or not at all, so that like is shown alike; what is one operation stays one box.
// `counts` tells which children are shown at all.
export function openUpTo(hierarchy: Hierarchy, limit: number, counts: (child: number) => boolean = () => true): ReadonlySet<number> {
  const open = new Set<number>();
  let shown = hierarchy.top.filter(counts).length;
  let level: readonly (readonly number[])[] = [hierarchy.top];
  while (level.length > 0) {
    const next: (readonly number[])[] = [];
    for (const children of level) {
      for (const alike of bySignature(hierarchy, children)) {
        const cost = alike.reduce((sum, group) => sum + hierarchy.groups[group]!.children.filter(counts).length, 0);
        if (shown + cost > limit) continue;
        shown += cost;
        for (const group of alike) {
          open.add(group);
          next.push(hierarchy.groups[group]!.children);
        }
      }
    }
    level = next;
  }
  return open;
}

function bySignature(hierarchy: Hierarchy, children: readonly number[]): Iterable<readonly number[]> {
  const classes = new Map<number, number[]>();
  for (const child of children) {
    if (child < 0) continue;
    const { signature, folds } = hierarchy.groups[child]!;
    if (folds !== -1) continue;
    const known = classes.get(signature);
    if (known === undefined) classes.set(signature, [child]);
    else known.push(child);
  }
  return classes.values();
}

// The groups that must be open to show a node (or the inside of a group's parent).
export function groupsAround(hierarchy: Hierarchy, group: number): readonly number[] {
  const around: number[] = [];
  for (let at = group; at !== -1; at = hierarchy.groups[at]!.parent) around.push(at);
  return around;
}
