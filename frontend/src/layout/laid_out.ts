// Where boxes and edges lie. World space: y downward in forward order, one unit
// is one CSS pixel at zoom 1. Positions do not depend on direction or step.

import type { Point, Rect } from "../base/geometry";

export interface LaidOut {
  readonly boxes: readonly Rect[]; // by index in VisibleGraph.boxes
  readonly edges: readonly (readonly Point[])[]; // by index in VisibleGraph.edges; forward
  readonly bounds: Rect;
}
