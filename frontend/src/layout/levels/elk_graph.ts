// Converts a layout request to ELK's input, and ELK's output to our form.

import type { ElkExtendedEdge, ElkNode, LayoutOptions } from "elkjs/lib/elk-api";
import type { Point, Rect } from "../../base/geometry";
import { boundsAround, CLOSE_BESIDE, straight, TITLE_HEIGHT, type Laid } from "../places/laid_out";
import type { LayoutRequest } from "../places/request";

export const BETWEEN_LAYERS = 38;

// ELK does not pass options down to groups, so they are repeated for each group.
export const SPACING: LayoutOptions = {
  "elk.algorithm": "layered",
  "elk.direction": "DOWN",
  "elk.edgeRouting": "ORTHOGONAL",
  "elk.layered.nodePlacement.strategy": "BRANDES_KOEPF",
  "elk.layered.nodePlacement.bk.fixedAlignment": "BALANCED",
  "elk.layered.spacing.nodeNodeBetweenLayers": String(BETWEEN_LAYERS),
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

// A level with at least this many closed boxes, and no open ones, is wrapped into columns.
const WRAP_FROM = 40;
const WRAP: LayoutOptions = {
  "elk.layered.wrapping.strategy": "MULTI_EDGE",
  "elk.layered.wrapping.additionalEdgeSpacing": "24",
  "elk.aspectRatio": "1.5",
};

// A group with a single box is drawn close around it.
export function groupOptions(children: number): LayoutOptions {
  const [above, beside] = children === 1 ? [10, CLOSE_BESIDE] : [14, 12];
  return {
    "elk.padding": `[top=${TITLE_HEIGHT + above},left=${beside},bottom=${beside},right=${beside}]`,
    "elk.nodeSize.constraints": "MINIMUM_SIZE",
  };
}

export function toElk({ parent, open, width, height, source, target }: LayoutRequest): ElkNode {
  const inside = new Int32Array(parent.length);
  for (const around of parent) if (around !== -1) inside[around]!++;
  const nodes = Array.from(parent, (_, box) => elkNode(open[box] === 1, String(box), width[box]!, height[box]!, inside[box]!));
  const top: ElkNode[] = [];
  parent.forEach((around, box) => {
    const siblings = around === -1 ? top : (nodes[around]!.children ??= []);
    siblings.push(nodes[box]!);
  });
  const edges = Array.from(source, (from, edge): ElkExtendedEdge => ({
    id: `e${edge}`,
    sources: [String(from)],
    targets: [String(target[edge])],
  }));
  nodes.forEach((node) => wrapLong(node));
  return wrapLong({ id: "root", layoutOptions: ROOT, children: top, edges });
}

function elkNode(open: boolean, id: string, width: number, height: number, children: number): ElkNode {
  if (!open) return { id, width, height };
  // With INCLUDE_CHILDREN and direction DOWN, ELK 0.12 swaps these two values.
  return { id, layoutOptions: { ...SPACING, ...groupOptions(children), "elk.nodeSize.minimum": `(${height},${width})` } };
}

function wrapLong(node: ElkNode): ElkNode {
  const children = node.children ?? [];
  const flat = children.every((child) => child.children === undefined);
  if (children.length >= WRAP_FROM && flat) node.layoutOptions = { ...node.layoutOptions, ...WRAP };
  return node;
}

export function fromElk(root: ElkNode, { parent, source, target }: LayoutRequest): Laid {
  const boxes: Rect[] = Array.from(parent, () => ({ x: 0, y: 0, width: 0, height: 0 }));
  const visit = (node: ElkNode): void => {
    for (const child of node.children ?? []) {
      boxes[Number(child.id)] = rectOf(child);
      visit(child);
    }
  };
  visit(root);
  const pathById = pathsOf(root);
  const edges = Array.from(source, (from, edge) => {
    const path = pathById(`e${edge}`);
    return path.length >= 2 ? path : straight(boxes[from]!, boxes[target[edge]!]!);
  });
  return { boxes, edges, bounds: boundsAround(boxes, edges) };
}

export function rectOf({ x = 0, y = 0, width = 0, height = 0 }: ElkNode): Rect {
  return { x, y, width, height };
}

// An edge that ELK did not route has no points.
export function pathsOf({ edges = [] }: ElkNode): (id: string) => readonly Point[] {
  const byId = new Map(edges.map((edge) => [edge.id, edge]));
  return (id) =>
    (byId.get(id)?.sections ?? []).flatMap(({ startPoint, bendPoints, endPoint }) => [startPoint, ...(bendPoints ?? []), endPoint]);
}
