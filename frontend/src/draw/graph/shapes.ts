// The outlines of the kinds of nodes. A kind can be recognized by its shape, not only by its color.

import type { Rect } from "../../base/geometry";
import type { Shape } from "../scene/scene";

const SLANT = 10;
const CUT = 8;

export function outline(context: CanvasRenderingContext2D, shape: Shape, rect: Rect, inset = 0): void {
  const x = rect.x + inset;
  const y = rect.y + inset;
  const width = Math.max(1, rect.width - 2 * inset);
  const height = Math.max(1, rect.height - 2 * inset);
  context.beginPath();
  switch (shape) {
    case "parameter":
    case "leaf":
    case "root":
      context.roundRect(x, y, width, height, height / 2);
      return;
    case "input":
      polygon(context, [
        [x + SLANT, y],
        [x + width, y],
        [x + width - SLANT, y + height],
        [x, y + height],
      ]);
      return;
    case "buffer":
      polygon(context, [
        [x + CUT, y],
        [x + width - CUT, y],
        [x + width, y + CUT],
        [x + width, y + height - CUT],
        [x + width - CUT, y + height],
        [x + CUT, y + height],
        [x, y + height - CUT],
        [x, y + CUT],
      ]);
      return;
    case "frame":
      context.roundRect(x, y, width, height, 10);
      return;
    default:
      context.roundRect(x, y, width, height, Math.max(1, 7 - inset));
  }
}

function polygon(context: CanvasRenderingContext2D, points: readonly (readonly [number, number])[]): void {
  points.forEach(([x, y], i) => (i === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
  context.closePath();
}
