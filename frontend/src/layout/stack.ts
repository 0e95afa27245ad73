// The layout of last resort: boxes below each other in forward order, edges straight.

import { boundsOf, type Rect, type Size } from "../base/geometry";
import type { VisibleGraph } from "../model/collapse";
import { TITLE_HEIGHT } from "./elk_graph";
import type { LaidOut } from "./laid_out";

const GAP = 24;
const INDENT = 16;

// Needs no recursion: boxes come in forward order, each after the group around it.
export function stackBoxes(visible: VisibleGraph, sizes: readonly Size[]): LaidOut {
  const boxes: Rect[] = [];
  let y = 0;
  visible.boxes.forEach((box, index) => {
    const { width, height } = sizes[index]!;
    boxes.push({ x: box.depth * INDENT, y, width, height: box.open ? TITLE_HEIGHT + GAP : height });
    y += (box.open ? TITLE_HEIGHT : height) + GAP;
  });
  // Grow each group around what is inside, innermost first.
  for (let index = boxes.length - 1; index >= 0; index--) {
    const { parent } = visible.boxes[index]!;
    if (parent === -1) continue;
    const inner = boxes[index]!;
    const outer = boxes[parent]!;
    boxes[parent] = {
      x: outer.x,
      y: outer.y,
      width: Math.max(outer.width, inner.x + inner.width + INDENT - outer.x),
      height: Math.max(outer.height, inner.y + inner.height + INDENT - outer.y),
    };
  }
  const edges = visible.edges.map(({ source, target }) => {
    const from = boxes[source]!;
    const to = boxes[target]!;
    return [
      { x: from.x + from.width / 2, y: from.y + from.height },
      { x: to.x + to.width / 2, y: to.y },
    ];
  });
  const corners = boxes.flatMap((box) => [box, { x: box.x + box.width, y: box.y + box.height }]);
  return { boxes, edges, bounds: boundsOf(corners) };
}
