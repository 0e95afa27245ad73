// Paints boxes: nodes, closed groups, and rows.

import type { Rect } from "../../base/geometry";
import { State } from "../../model/visible/values";
import type { Theme } from "../style/theme";
import { HEAD_HEIGHT } from "../../layout/places/placed_rows";
import { SHEETS } from "../scene/caption";
import { TEXT_FROM } from "./level_of_detail";
import { paintDots, paintGhost, paintMarks, RIM } from "./paint_marks";
import { paintStrip, STRIP_HEIGHT } from "../scene/paint_strip";
import type { BoxPaint } from "../scene/paints";
import type { SceneBox, Shape } from "../scene/scene";
import { paintText } from "./paint_text";
import { outline } from "./shapes";

const ZERO_FRAME = 4;

export interface Marks {
  readonly selected: boolean;
  readonly hovered: boolean;
  readonly near: boolean; // a neighbor of the hovered or selected box
  readonly cell: number; // the cell of its strip that has the selection; -1: none
}

function fillInside(context: CanvasRenderingContext2D, shape: Shape, face: Rect, theme: Theme): void {
  outline(context, shape, face, ZERO_FRAME);
  context.fillStyle = theme.zero;
  context.fill();
}

export function paintBox(
  context: CanvasRenderingContext2D,
  box: SceneBox,
  paint: BoxPaint,
  marks: Marks,
  theme: Theme,
  zoom: number,
): void {
  const { shape } = box;
  const face = faceOf(box);
  if (shape === "group" && box.holder === -1 && zoom > 0.3) paintSheets(context, face, theme);
  outline(context, shape, face);
  context.fillStyle = paint.fill;
  context.fill();
  if (paint.zero === true) fillInside(context, shape, face, theme);
  if (paint.told && paint.state === State.none && zoom > 0.3) hatch(context, shape, face, paint.only ? theme.only : theme.noneLine);
  if (paint.unread === true && zoom > 0.3) paintDots(context, shape, face, theme);
  paintBorder(context, box, face, marks, theme, zoom);
  if (paint.ghost === true) paintGhost(context, box, face, theme, zoom);
  paintMarks(context, box, face, theme, zoom);
  const hasStrip = box.strip !== undefined;
  if (hasStrip && zoom > 0.25) paintStrip(context, face, paint, marks.cell, theme);
  const height = hasStrip ? face.height - STRIP_HEIGHT : box.rows > 0 ? HEAD_HEIGHT : face.height;
  const room = { ...face, height };
  if (zoom >= TEXT_FROM) paintText(context, box, room, paint, zoom);
}

// A box without the two sheets below it, which a row does not have.
export function faceOf({ rectWorld, shape, holder }: Pick<SceneBox, "rectWorld" | "shape" | "holder">): Rect {
  return shape === "group" && holder === -1 ? { ...rectWorld, height: rectWorld.height - SHEETS } : rectWorld;
}

function paintBorder(context: CanvasRenderingContext2D, box: SceneBox, face: Rect, marks: Marks, theme: Theme, zoom: number): void {
  const { shape } = box;
  const thin = 1 / Math.min(1, Math.max(zoom, 0.4));
  outline(context, shape, face);
  context.setLineDash(shape === "constant" ? [3, 3] : []);
  context.lineWidth = shape === "operation" || shape === "group" || shape === "constant" ? thin : 2 * thin;
  context.strokeStyle = borderColor(box, theme);
  context.stroke();
  context.setLineDash([]);
  if (shape === "root") {
    outline(context, shape, face, 3.5);
    context.lineWidth = thin;
    context.stroke();
  }
  if (!marks.selected && !marks.hovered && !marks.near) return;
  const beyond = box.order > 1 ? RIM : 0;
  outline(context, shape, face, (marks.selected ? -3 : -2) - beyond);
  context.lineWidth = (marks.selected ? 2.5 : 1.5) * thin;
  context.strokeStyle = marks.near && !marks.hovered ? `${theme.accent}99` : theme.accent;
  context.stroke();
}

function borderColor({ shape }: SceneBox, theme: Theme): string {
  if (shape === "parameter" || shape === "leaf") return theme.leaf;
  if (shape === "input" || shape === "buffer") return theme.input;
  return shape === "root" ? theme.root : theme.border;
}

// Two sheets below a closed group show that it has contents.
function paintSheets(context: CanvasRenderingContext2D, rect: Rect, theme: Theme): void {
  context.strokeStyle = theme.border;
  context.fillStyle = theme.groupFill[1];
  context.lineWidth = 1;
  for (const shift of [SHEETS, SHEETS / 2]) {
    context.beginPath();
    context.roundRect(rect.x + shift, rect.y + shift, rect.width - 2 * shift, rect.height, 7);
    context.fill();
    context.stroke();
  }
}

// The outline is traced again after `save`, because in an SVG context a path does not survive it.
function hatch(context: CanvasRenderingContext2D, shape: Shape, rect: Rect, color: string): void {
  context.save();
  outline(context, shape, rect);
  context.clip();
  context.beginPath();
  for (let x = rect.x - rect.height; x < rect.x + rect.width; x += 7) {
    context.moveTo(x, rect.y + rect.height);
    context.lineTo(x + rect.height, rect.y);
  }
  context.lineWidth = 1;
  context.strokeStyle = color;
  context.stroke();
  context.restore();
}
