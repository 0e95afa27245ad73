// Where boxes and edges lie. World space: y downward in forward order, one unit
// is one CSS pixel at zoom 1. Positions do not depend on direction or step.

import { boundsOf, type Point, type Rect } from "../base/geometry";

export const TITLE_HEIGHT = 26;

export interface Laid {
  readonly boxes: readonly Rect[]; // by index in VisibleGraph.boxes
  readonly edges: readonly (readonly Point[])[]; // by index in VisibleGraph.edges; forward
  readonly bounds: Rect;
}

export interface LaidOut extends Laid {
  readonly labels: readonly (Point | undefined)[]; // middle of the label of each edge, where there is room for one
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
