// Computes the visible boxes and merged edges for a set of open groups.

import { asItem, type Hierarchy } from "../tree/hierarchy";
import { foldFollowing, holdersOf } from "./rows";

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
  readonly edges: readonly number[]; // edges of the graph that leave the source
  readonly ends: readonly number[]; // edges that enter the target; these differ if a chain is folded into the line
  readonly chains: readonly number[]; // groups of the chains that are folded into it
}

export interface VisibleGraph {
  readonly boxes: readonly Box[];
  readonly edges: readonly VisibleEdge[];
  // For what is a row in another box, that box; else -1 (rows.ts).
  readonly holder: Int32Array;
  // First box that shows each node; -1 if it is inside a closed group or part of a line.
  readonly boxOfNode: Int32Array;
  // The box that shows each item: its own or that of a closed group; -1 if it is part of a line.
  readonly shownBy: Int32Array;
}

// `folded`: whether norms and activations are rows in the box before them.
export function showGraph(hierarchy: Hierarchy, open: ReadonlySet<number>, folded = false): VisibleGraph {
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
    if (group.kind === "chain") {
      for (const inner of group.children) {
        if (isOpen) visit(inner, parent, depth);
        else itemBox[asItem(inner)] = FOLDED;
      }
      return;
    }
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
  const edges = mergeEdges(hierarchy, boxes, shownBy);
  const holder = holdersOf(hierarchy, boxes, edges);
  return {
    boxes,
    edges,
    holder: folded ? foldFollowing(hierarchy, boxes, edges, holder) : holder,
    boxOfNode: itemBox.subarray(0, hierarchy.graph.nodeCount).map((box) => Math.max(-1, box)),
    shownBy,
  };
}

// Whether a line is inside a box: from a row to the operation that uses it, or to a row that follows.
export function isInside({ holder }: Pick<VisibleGraph, "holder">, { source, target }: Pick<VisibleEdge, "source" | "target">): boolean {
  return outerOf(holder, source) === outerOf(holder, target);
}

// The box itself, or for a row the box that holds it.
function outerOf(holder: Int32Array, box: number): number {
  return holder[box] === -1 ? box : holder[box]!;
}

const FOLDED = -2;

function nodeBox(hierarchy: Hierarchy, item: number, parent: number, depth: number, module: number): Box {
  const node = hierarchy.itemNode[item]!;
  const key = hierarchy.graph.columns.nodes.key[node]!;
  const id = item === node ? key : `${key} (copy ${item})`;
  return { id, kind: "node", item, node, group: -1, module, open: false, parent, depth };
}

// The box that shows each item: its own, or the closed group around it.
function nearestBox(hierarchy: Hierarchy, groupBox: Int32Array, itemBox: Int32Array): Int32Array {
  const groupShown = groupBox.slice();
  hierarchy.groups.forEach(({ parent }, group) => {
    if (groupShown[group] === -1 && parent !== -1) groupShown[group] = groupShown[parent]!;
  });
  return itemBox.map((box, item) => (box === -1 ? groupShown[hierarchy.itemGroup[item]!]! : Math.max(-1, box)));
}

interface Line extends VisibleEdge {
  readonly edges: number[];
  readonly ends: number[];
  readonly chains: number[];
}

function mergeEdges(hierarchy: Hierarchy, boxes: readonly Box[], shownBy: Int32Array): readonly VisibleEdge[] {
  const { edgeTarget, edgeCount } = hierarchy.graph;
  const merged = new Map<number, Line>();
  const result: VisibleEdge[] = [];
  for (let edge = 0; edge < edgeCount; edge++) {
    const source = shownBy[hierarchy.edgeSourceItem[edge]!]!;
    if (source === -1) continue;
    const end = endOf(hierarchy, shownBy, edge);
    const target = shownBy[edgeTarget[end]!]!;
    if (source === target) continue;
    // Between two nodes, each edge is kept (x * x uses x twice). Edges of a group are merged.
    const alone = boxes[source]!.kind === "node" && boxes[target]!.kind === "node";
    const key = source * boxes.length + target;
    const line = (alone ? undefined : merged.get(key)) ?? { source, target, edges: [], ends: [], chains: [] };
    if (line.edges.length === 0) result.push(line);
    if (!alone) merged.set(key, line);
    line.edges.push(edge);
    line.ends.push(end);
    if (end !== edge) line.chains.push(...chainsBetween(hierarchy, edge, end));
  }
  return result;
}

// Follows the chains that are folded into the line: each of their nodes has one edge in and one out.
function endOf({ graph }: Hierarchy, shownBy: Int32Array, edge: number): number {
  let end = edge;
  while (shownBy[graph.edgeTarget[end]!] === -1) end = graph.outEdges[graph.outStart[graph.edgeTarget[end]!]!]!;
  return end;
}

function chainsBetween({ graph, itemGroup }: Hierarchy, edge: number, end: number): readonly number[] {
  const chains = new Set<number>();
  for (let at = edge; at !== end; at = graph.outEdges[graph.outStart[graph.edgeTarget[at]!]!]!)
    chains.add(itemGroup[graph.edgeTarget[at]!]!);
  return [...chains];
}
