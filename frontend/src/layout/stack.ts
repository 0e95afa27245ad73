// The fallback layout: boxes below each other in forward order, with straight edges.

import type { Rect } from "../base/geometry";
import { boundsAround, straight, TITLE_HEIGHT, type Laid } from "./places/laid_out";
import type { LayoutRequest } from "./places/request";

const GAP = 24;
const INDENT = 16;

// This needs no recursion, because each box comes after the group around it.
export function stackBoxes({ parent, open, depth, width, height, source, target }: LayoutRequest): Laid {
  const boxes: Rect[] = [];
  let y = 0;
  parent.forEach((_, box) => {
    const least = open[box] === 1 ? TITLE_HEIGHT : height[box]!;
    boxes.push({ x: depth[box]! * INDENT, y, width: width[box]!, height: open[box] === 1 ? TITLE_HEIGHT + GAP : least });
    y += least + GAP;
  });
  // Enlarge each group around its contents, innermost first.
  for (let box = boxes.length - 1; box >= 0; box--) {
    const around = parent[box]!;
    if (around === -1) continue;
    const inner = boxes[box]!;
    const outer = boxes[around]!;
    boxes[around] = {
      x: outer.x,
      y: outer.y,
      width: Math.max(outer.width, inner.x + inner.width + INDENT - outer.x),
      height: Math.max(outer.height, inner.y + inner.height + INDENT - outer.y),
    };
  }
  const edges = Array.from(source, (from, edge) => straight(boxes[from]!, boxes[target[edge]!]!));
  return { boxes, edges, bounds: boundsAround(boxes, edges) };
}
