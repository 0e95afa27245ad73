// The positions of boxes and edges, and the form in which the worker sends them. World space: y
// points down in forward order, and one unit is one CSS pixel at zoom 1. Positions do not depend on
// direction or step.

import { boundsOf, type Point, type Rect } from "../../base/geometry";

export const TITLE_HEIGHT = 26;
// The room beside a box that is alone in its group.
export const CLOSE_BESIDE = 6;

export interface Laid {
  readonly boxes: readonly Rect[]; // by index in VisibleGraph.boxes
  readonly edges: readonly (readonly Point[])[]; // by index in VisibleGraph.edges; forward
  readonly bounds: Rect;
}

export interface LaidOut extends Laid {
  readonly labels: readonly (Point | undefined)[]; // middle of the label of each edge, if there is room for one
}

export function boundsAround(boxes: readonly Rect[], edges: readonly (readonly Point[])[]): Rect {
  const corners = boxes.flatMap((box) => [box, { x: box.x + box.width, y: box.y + box.height }]);
  return corners.length === 0 ? { x: 0, y: 0, width: 1, height: 1 } : boundsOf([...corners, ...edges.flat()]);
}

export function straight(from: Rect, to: Rect): readonly Point[] {
  return [
    { x: from.x + from.width / 2, y: from.y + from.height },
    { x: to.x + to.width / 2, y: to.y },
  ];
}

// The worker's answer, in columns, because copying thousands of small objects is slow.
export interface Packed {
  readonly rects: Float64Array<ArrayBuffer>; // x, y, width, height of each box; the last entry covers all boxes
  readonly starts: Int32Array<ArrayBuffer>; // where the path of each edge begins among the points; one more entry for the end
  readonly points: Float64Array<ArrayBuffer>; // x, y
  readonly labels: Float64Array<ArrayBuffer>; // x, y of each edge; NaN: none
}

export type Answer =
  | { readonly kind: "part"; readonly part: number } // 0..1
  | (Packed & { readonly kind: "laid"; readonly warning: string });

export function packLaid({ boxes, edges, bounds, labels }: LaidOut): Packed {
  const starts = new Int32Array(edges.length + 1);
  edges.forEach((path, edge) => (starts[edge + 1] = starts[edge]! + path.length));
  return {
    rects: Float64Array.from([...boxes, bounds].flatMap(({ x, y, width, height }) => [x, y, width, height])),
    starts,
    points: Float64Array.from(edges.flat().flatMap(({ x, y }) => [x, y])),
    labels: Float64Array.from(labels.flatMap((place) => [place?.x ?? NaN, place?.y ?? NaN])),
  };
}

export function unpackLaid({ rects, starts, points, labels }: Packed): LaidOut {
  const pointAt = (from: Float64Array, at: number): Point => ({ x: from[2 * at]!, y: from[2 * at + 1]! });
  const all = Array.from({ length: rects.length / 4 }, (_, i): Rect => ({
    x: rects[4 * i]!,
    y: rects[4 * i + 1]!,
    width: rects[4 * i + 2]!,
    height: rects[4 * i + 3]!,
  }));
  const bounds = all.pop()!;
  const edges = Array.from({ length: starts.length - 1 }, (_, edge) =>
    Array.from({ length: starts[edge + 1]! - starts[edge]! }, (_, i) => pointAt(points, starts[edge]! + i)),
  );
  return {
    boxes: all,
    bounds,
    edges,
    labels: edges.map((_, edge) => (Number.isNaN(labels[2 * edge]) ? undefined : pointAt(labels, edge))),
  };
}
