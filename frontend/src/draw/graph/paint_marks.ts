// Paints small marks on boxes and edges: second order, retained gradient, cut.

import type { Point, Rect } from "../../base/geometry";
import { FONT, widthOf } from "../style/text";
import type { Theme } from "../style/theme";
import type { SceneBox, Shape } from "../scene/scene";
import { outline } from "./shapes";

// Distance of the rim of a second-order box, so that it is visible next to the fill.
export const RIM = 4;
const BADGE_FONT = `600 10px ${FONT}`;
const MARKS_FROM = 0.3;

// Of a cut: the length of its two bars, the gap between them, and the distance to its target.
const BAR = 14;
const GAP = 5;
const BEFORE_TARGET = 18;

export function paintMarks(context: CanvasRenderingContext2D, box: SceneBox, face: Rect, theme: Theme, zoom: number): void {
  if (box.order > 1) paintRim(context, box, face, theme, zoom);
  if (zoom < MARKS_FROM) return;
  if (box.order > 1) badge(context, `order ${box.order}`, face.x + 7, face.y - RIM, theme.secondOrder, theme);
  if (box.retains) paintPin(context, { x: face.x + face.width - (round(box) ? face.height / 2 : 9), y: face.y }, theme);
}

// Over its border: a box that is missing on this side gets dashes.
export function paintGhost(context: CanvasRenderingContext2D, { shape }: SceneBox, face: Rect, theme: Theme, zoom: number): void {
  outline(context, shape, face);
  context.lineWidth = 2.4 / Math.min(1, Math.max(zoom, 0.4));
  context.strokeStyle = theme.background;
  context.stroke();
  context.setLineDash([5, 4]);
  context.lineWidth *= 0.6;
  context.strokeStyle = theme.only;
  context.stroke();
  context.setLineDash([]);
}

// Dots in a box whose value was not read.
export function paintDots(context: CanvasRenderingContext2D, shape: Shape, face: Rect, theme: Theme): void {
  context.save();
  outline(context, shape, face);
  context.clip();
  context.fillStyle = theme.noneLine;
  for (let y = face.y + 4, row = 0; y < face.y + face.height; y += 6, row++) {
    for (let x = face.x + (row % 2 === 0 ? 4 : 7.5); x < face.x + face.width; x += 7) context.fillRect(x, y, 1.4, 1.4);
  }
  context.restore();
}

function round({ shape }: SceneBox): boolean {
  return shape === "leaf" || shape === "parameter" || shape === "root";
}

function paintRim(context: CanvasRenderingContext2D, box: SceneBox, face: Rect, theme: Theme, zoom: number): void {
  outline(context, box.shape, face, -RIM);
  context.setLineDash([6, 3]);
  context.lineWidth = 1.6 / Math.min(1, Math.max(zoom, 0.4));
  context.strokeStyle = theme.secondOrder;
  context.stroke();
  context.setLineDash([]);
}

// On the upper border, at the left.
function badge(context: CanvasRenderingContext2D, text: string, x: number, y: number, color: string, theme: Theme): void {
  const width = widthOf(text, BADGE_FONT) + 8;
  context.beginPath();
  context.roundRect(x, y - 6.5, width, 13, 3);
  context.fillStyle = theme.surface;
  context.fill();
  context.lineWidth = 1;
  context.strokeStyle = color;
  context.stroke();
  context.font = BADGE_FONT;
  context.fillStyle = color;
  context.fillText(text, x + 4, y + 0.5);
}

// A ring with a filled center on the upper border, at the right: the gradient is retained.
function paintPin(context: CanvasRenderingContext2D, { x, y }: Point, theme: Theme): void {
  disc(context, x, y, 6, theme.surface);
  context.lineWidth = 1.5;
  context.strokeStyle = theme.leaf;
  context.stroke();
  disc(context, x, y, 2.8, theme.leaf);
}

function disc(context: CanvasRenderingContext2D, x: number, y: number, radius: number, color: string): void {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fillStyle = color;
  context.fill();
}

// Two short bars across the line, which is interrupted between them.
export function paintCut(context: CanvasRenderingContext2D, path: readonly Point[], theme: Theme, zoom: number): void {
  const target = path[path.length - 1]!;
  const before = path[path.length - 2]!;
  const length = Math.hypot(target.x - before.x, target.y - before.y) || 1;
  const along = { x: (target.x - before.x) / length, y: (target.y - before.y) / length };
  const distance = Math.min(BEFORE_TARGET, length / 2);
  const middle = { x: target.x - along.x * distance, y: target.y - along.y * distance };
  const thin = 1 / Math.min(1, Math.max(zoom, 0.35));
  context.lineWidth = 6 * thin;
  context.strokeStyle = theme.background;
  line(context, middle, along, GAP / 2);
  const across = { x: -along.y, y: along.x };
  context.lineWidth = 2 * thin;
  context.strokeStyle = theme.cut;
  for (const side of [-GAP / 2, GAP / 2]) {
    line(context, { x: middle.x + along.x * side, y: middle.y + along.y * side }, across, BAR / 2);
  }
}

function line(context: CanvasRenderingContext2D, middle: Point, direction: Point, reach: number): void {
  context.beginPath();
  context.moveTo(middle.x - direction.x * reach, middle.y - direction.y * reach);
  context.lineTo(middle.x + direction.x * reach, middle.y + direction.y * reach);
  context.stroke();
}
