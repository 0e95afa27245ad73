// Translates the visible graph to ELK's input and ELK's answer back.

import type { ElkExtendedEdge, ElkNode, LayoutOptions } from "elkjs/lib/elk-api";
import { boundsOf, type Point, type Rect, type Size } from "../base/geometry";
import type { VisibleGraph } from "../model/collapse";
import type { LaidOut } from "./laid_out";

export const TITLE_HEIGHT = 26;

// ELK does not hand options down to groups: these are repeated on each.
const SPACING: LayoutOptions = {
  "elk.algorithm": "layered",
  "elk.direction": "DOWN",
  "elk.edgeRouting": "ORTHOGONAL",
  "elk.layered.nodePlacement.strategy": "BRANDES_KOEPF",
  "elk.layered.nodePlacement.bk.fixedAlignment": "BALANCED",
  "elk.layered.spacing.nodeNodeBetweenLayers": "44",
  "elk.layered.spacing.edgeNodeBetweenLayers": "14",
  "elk.layered.spacing.edgeEdgeBetweenLayers": "12",
  "elk.spacing.nodeNode": "22",
  "elk.spacing.edgeNode": "16",
  "elk.spacing.edgeEdge": "12",
  "elk.spacing.componentComponent": "40",
  "elk.layered.thoroughness": "10",
  "elk.randomSeed": "1",
};

const ROOT: LayoutOptions = {
  ...SPACING,
  "elk.hierarchyHandling": "INCLUDE_CHILDREN",
  "elk.json.shapeCoords": "ROOT",
  "elk.json.edgeCoords": "ROOT",
};

// A level this long with nothing open is wrapped into columns.
const WRAP_FROM = 40;
const WRAP: LayoutOptions = {
  "elk.layered.wrapping.strategy": "MULTI_EDGE",
  "elk.layered.wrapping.additionalEdgeSpacing": "24",
  "elk.aspectRatio": "1.5",
};

export function toElk(visible: VisibleGraph, sizes: readonly Size[]): ElkNode {
  const nodes: ElkNode[] = visible.boxes.map((box, index) => elkNode(box.open, index, sizes[index]!));
  const top: ElkNode[] = [];
  visible.boxes.forEach((box, index) => {
    const siblings = box.parent === -1 ? top : (nodes[box.parent]!.children ??= []);
    siblings.push(nodes[index]!);
  });
  const edges = visible.edges.map(
    ({ source, target }, index): ElkExtendedEdge => ({
      id: `e${index}`,
      sources: [String(source)],
      targets: [String(target)],
    }),
  );
  nodes.forEach((node) => wrapLong(node));
  return wrapLong({ id: "root", layoutOptions: ROOT, children: top, edges });
}

function elkNode(open: boolean, index: number, size: Size): ElkNode {
  if (!open) return { id: String(index), width: size.width, height: size.height };
  return {
    id: String(index),
    layoutOptions: {
      ...SPACING,
      "elk.padding": `[top=${TITLE_HEIGHT + 16},left=16,bottom=16,right=16]`,
      "elk.nodeSize.constraints": "MINIMUM_SIZE",
      // With INCLUDE_CHILDREN and direction DOWN, ELK 0.12 reads this pair transposed.
      "elk.nodeSize.minimum": `(${size.height},${size.width})`,
    },
  };
}

function wrapLong(node: ElkNode): ElkNode {
  const children = node.children ?? [];
  const flat = children.every((child) => child.children === undefined);
  if (children.length >= WRAP_FROM && flat) node.layoutOptions = { ...node.layoutOptions, ...WRAP };
  return node;
}

export function fromElk(root: ElkNode, visible: VisibleGraph): LaidOut {
  const boxes: Rect[] = visible.boxes.map(() => ({ x: 0, y: 0, width: 0, height: 0 }));
  const visit = (node: ElkNode): void => {
    for (const child of node.children ?? []) {
      boxes[Number(child.id)] = {
        x: child.x ?? 0, y: child.y ?? 0, width: child.width ?? 0, height: child.height ?? 0,
      };
      visit(child);
    }
  };
  visit(root);
  const byId = new Map((root.edges ?? []).map((edge) => [edge.id, edge]));
  const edges = visible.edges.map(({ source, target }, index) => {
    const path = pathOf(byId.get(`e${index}`));
    return path.length >= 2 ? path : straight(boxes[source]!, boxes[target]!);
  });
  const corners = boxes.flatMap((box) => [box, { x: box.x + box.width, y: box.y + box.height }]);
  const bounds = corners.length === 0 ? { x: 0, y: 0, width: 1, height: 1 } : boundsOf([...corners, ...edges.flat()]);
  return { boxes, edges, bounds };
}

function pathOf(edge: ElkExtendedEdge | undefined): readonly Point[] {
  const path: Point[] = [];
  for (const { startPoint, bendPoints, endPoint } of edge?.sections ?? []) {
    path.push(startPoint, ...(bendPoints ?? []), endPoint);
  }
  return path;
}

function straight(from: Rect, to: Rect): readonly Point[] {
  return [
    { x: from.x + from.width / 2, y: from.y + from.height },
    { x: to.x + to.width / 2, y: to.y },
  ];
}
