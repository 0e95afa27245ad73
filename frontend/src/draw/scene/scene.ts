// The input of the painter, in two parts. One changes with the layout, the other with the step.
// Recoloring makes only the second part again.

import { boundsOf, distanceToPath, intersects, type Point, type Rect } from "../../base/geometry";
import type { NodeKind } from "../../base/vocabulary";
import type { LaidOut } from "../../layout/places/laid_out";
import { isCut, retainsGrad } from "../../model/recorded/gradient_flow";
import { slotRowOf } from "../../model/recorded/graph";
import { shapeTextOf } from "../../model/recorded/labels";
import type { Hierarchy } from "../../model/tree/hierarchy";
import { isInside, type VisibleGraph, type VisibleEdge } from "../../model/visible/collapse";
import { stripOf, type Strip } from "../../model/visible/strip";
import { captionOf, rowCaption } from "./caption";

export type Shape = NodeKind | "group" | "frame";

export interface SceneBox {
  readonly id: string;
  readonly rectWorld: Rect;
  readonly shape: Shape;
  readonly depth: number;
  readonly holder: number; // the box in which it is a row; -1: none
  readonly title: string;
  readonly subtitle: string;
  readonly order: number;
  readonly copied: boolean;
  readonly retains: boolean; // the user called retain_grad on it
  readonly rows: number; // how many rows it holds
  readonly chained: boolean; // a row with the mark of a chain that is folded into its line
  readonly strip: Strip | undefined; // of a closed run of equal blocks
}

export interface SceneEdge {
  readonly pathWorld: readonly Point[];
  readonly boundsWorld: Rect;
  readonly labelWorld: Point | undefined;
  readonly markWorld: Point | undefined; // of a chain that is folded into the line
  readonly chains: readonly number[]; // groups of those chains
  readonly source: number;
  readonly target: number;
  readonly held: boolean; // inside a box, between it and its rows, and not drawn
  readonly shapeLabel: string;
  readonly cut: boolean; // no gradient flows back along it, although its source requires one
}

export interface Scene {
  readonly boxes: readonly SceneBox[];
  readonly edges: readonly SceneEdge[];
  readonly boundsWorld: Rect;
  readonly indexOf: ReadonlyMap<string, number>;
}

export function buildScene(hierarchy: Hierarchy, visible: VisibleGraph, layout: LaidOut): Scene {
  const { columns } = hierarchy.graph;
  const rows = new Int32Array(visible.boxes.length);
  for (const by of visible.holder) if (by !== -1) rows[by]!++;
  const chained = new Set(visible.edges.flatMap((edge) => (edge.chains.length > 0 && isInside(visible, edge) ? [edge.source] : [])));
  const boxes = visible.boxes.map((box, index): SceneBox => {
    const node = box.node;
    return {
      id: box.id,
      rectWorld: layout.boxes[index]!,
      shape: node !== -1 ? columns.nodes.kind[node]! : box.open ? "frame" : "group",
      depth: box.depth,
      holder: visible.holder[index]!,
      ...(visible.holder[index] === -1 ? captionOf(hierarchy, box) : rowCaption(hierarchy, box)),
      order: node === -1 ? 1 : columns.nodes.order[node]!,
      copied: node !== -1 && box.item !== node,
      rows: rows[index]!,
      chained: chained.has(index),
      retains: node !== -1 && retainsGrad(hierarchy.graph, node),
      strip: box.group === -1 || box.open ? undefined : stripOf(hierarchy, box.group),
    };
  });
  const edges = visible.edges.map((edge, index): SceneEdge => ({
    pathWorld: layout.edges[index]!,
    boundsWorld: boundsOf(layout.edges[index]!),
    labelWorld: layout.labels[index],
    markWorld: edge.chains.length === 0 ? undefined : (layout.labels[index] ?? middleOf(layout.edges[index]!)),
    chains: edge.chains,
    source: edge.source,
    target: edge.target,
    held: isInside(visible, edge),
    shapeLabel: shapeLabelOf(hierarchy, edge),
    cut: edge.edges.every((one) => isCut(hierarchy.graph, one)),
  }));
  return { boxes, edges, boundsWorld: layout.bounds, indexOf: new Map(boxes.map((box, index) => [box.id, index])) };
}

function middleOf(path: readonly Point[]): Point {
  const at = Math.floor((path.length - 1) / 2);
  const [a, b] = [path[at]!, path[at + 1]!];
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
}

// The shape at the target; chains on the way may have changed it.
function shapeLabelOf(hierarchy: Hierarchy, { ends }: VisibleEdge): string {
  const { graph } = hierarchy;
  const shapes = new Set(ends.map((edge) => shapeTextOf(graph, slotRowOf(graph, edge))));
  return shapes.size === 1 ? [...shapes][0]! : `${ends.length} tensors`;
}

// Innermost box under a point, then an edge within reach of it.
export function edgeNear(scene: Scene, pointWorld: Point, reachWorld: number): number {
  const around = { x: pointWorld.x - reachWorld, y: pointWorld.y - reachWorld, width: 2 * reachWorld, height: 2 * reachWorld };
  return scene.edges.findIndex(
    ({ pathWorld, held }) =>
      !held &&
      pathWorld.some((point, i) => i > 0 && intersects(around, spanOf(pathWorld[i - 1]!, point))) &&
      distanceToPath(pointWorld, pathWorld) <= reachWorld,
  );
}

function spanOf(a: Point, b: Point): Rect {
  return { x: Math.min(a.x, b.x), y: Math.min(a.y, b.y), width: Math.abs(a.x - b.x), height: Math.abs(a.y - b.y) };
}
