// Paints boxes: the frames of open groups first, then closed boxes.

import type { Rect } from "../../base/geometry";
import { TITLE_HEIGHT } from "../../layout/laid_out";
import { State } from "../../model/visible/values";
import { DETAIL_FONT, fitText, FONT, TITLE_FONT, widthOf } from "../style/text";
import type { Theme } from "../style/theme";
import { SHEETS, textRoom } from "./caption";
import { isFullText, loneTitleSize } from "./level_of_detail";
import { paintDots, paintGhost, paintMarks, RIM } from "./paint_marks";
import { paintStrip, STRIP_HEIGHT } from "./paint_strip";
import type { BoxPaint } from "./paints";
import type { SceneBox, Shape } from "./scene";
import { outline } from "./shapes";

const ZERO_FRAME = 4;

export interface Marks {
  readonly selected: boolean;
  readonly hovered: boolean;
  readonly near: boolean; // a neighbor of the hovered or selected box
  readonly cell: number; // the cell of its strip that has the selection; -1: none
}

export function paintFrame(context: CanvasRenderingContext2D, box: SceneBox, marks: Marks, theme: Theme, zoom: number): void {
  outline(context, "frame", box.rectWorld);
  context.fillStyle = theme.groupFill[box.depth % 2]!;
  context.fill();
  context.lineWidth = (marks.selected ? 2 : marks.hovered ? 1.5 : 1) / Math.min(1, zoom);
  context.strokeStyle = marks.selected ? theme.accent : marks.hovered ? theme.inkSoft : theme.groupBorder;
  context.stroke();
}

// Titles are painted over the edges. Each letter has an outline in the frame's color, so edges seem
// to pass below titles.
export function paintFrameTitle(context: CanvasRenderingContext2D, box: SceneBox, paint: BoxPaint, theme: Theme): void {
  const { x, y, width } = box.rectWorld;
  const right = width - 60 - widthOf(paint.detail, DETAIL_FONT);
  rim = theme.groupFill[box.depth % 2]!;
  const middle = y + TITLE_HEIGHT / 2 + 3;
  chevron(context, x + 14, middle, theme.inkSoft);
  const end = text(context, box.title, TITLE_FONT, theme.ink, x + 24, middle, right);
  if (box.subtitle) text(context, box.subtitle, DETAIL_FONT, theme.inkSoft, end + 7, middle, right - (end - x - 20));
  context.textAlign = "right";
  text(context, paint.detail, DETAIL_FONT, theme.inkSoft, x + width - 28, middle, width);
  context.textAlign = "left";
  swatch(context, { x: x + width - 22, y: middle - 6.5, width: 11, height: 11 }, paint, theme);
  rim = undefined;
}

let rim: string | undefined;

function swatch(context: CanvasRenderingContext2D, rect: Rect, paint: BoxPaint, theme: Theme): void {
  context.beginPath();
  context.roundRect(rect.x, rect.y, rect.width, rect.height, 3);
  context.fillStyle = paint.fill;
  context.fill();
  context.lineWidth = 1;
  context.strokeStyle = theme.border;
  context.stroke();
  if (paint.zero !== true) return;
  context.fillStyle = theme.zero;
  context.fillRect(rect.x + 3, rect.y + 3, rect.width - 6, rect.height - 6);
}

function fillInside(context: CanvasRenderingContext2D, shape: Shape, face: Rect, theme: Theme): void {
  outline(context, shape, face, ZERO_FRAME);
  context.fillStyle = theme.zero;
  context.fill();
}

function chevron(context: CanvasRenderingContext2D, x: number, y: number, color: string): void {
  context.beginPath();
  context.moveTo(x - 3.5, y - 2);
  context.lineTo(x, y + 2);
  context.lineTo(x + 3.5, y - 2);
  context.lineWidth = 1.5;
  context.strokeStyle = color;
  context.stroke();
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
  if (shape === "group" && zoom > 0.3) paintSheets(context, face, theme);
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
  const room = hasStrip ? { ...face, height: face.height - STRIP_HEIGHT } : face;
  if (isFullText(zoom)) paintText(context, box, room, paint);
  else paintLoneTitle(context, box, room, paint.ink, zoom);
}

function paintLoneTitle(context: CanvasRenderingContext2D, box: SceneBox, face: Rect, ink: string, zoom: number): void {
  const width = textRoom(box.shape, face.width);
  const title = box.subtitle.startsWith("×") ? `${box.title} ${box.subtitle}` : box.title; // with the number of blocks
  const size = loneTitleSize(title, { width, height: face.height }, zoom);
  if (size === undefined) return;
  const fitted = fitText(title, TITLE_FONT, (width * 12) / size);
  context.textAlign = "center";
  context.font = `600 ${size}px ${FONT}`;
  context.fillStyle = ink;
  context.fillText(fitted, face.x + face.width / 2, face.y + face.height / 2 + size * 0.06);
  context.textAlign = "left";
}

// A box without the two sheets below it.
export function faceOf({ rectWorld, shape }: Pick<SceneBox, "rectWorld" | "shape">): Rect {
  return shape === "group" ? { ...rectWorld, height: rectWorld.height - SHEETS } : rectWorld;
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

function paintText(context: CanvasRenderingContext2D, box: SceneBox, face: Rect, paint: BoxPaint): void {
  const { x, y, width, height } = face;
  const room = textRoom(box.shape, width);
  const gap = box.shape === "constant" ? 6.5 : 8;
  const middle = y + height / 2 + 1;
  context.textAlign = "center";
  const title = box.copied ? `${box.title} ↗` : box.title;
  const alone = paint.detail === "";
  if (box.subtitle) paintPair(context, box, paint.ink, room, middle - gap);
  else text(context, title, TITLE_FONT, paint.ink, x + width / 2, alone ? middle : middle - gap, room);
  if (!alone) {
    softly(context, 0.82, () => text(context, paint.detail, DETAIL_FONT, paint.ink, x + width / 2, middle + gap, room));
  }
  context.textAlign = "left";
}

function softly(context: CanvasRenderingContext2D, alpha: number, draw: () => void): void {
  const before = context.globalAlpha;
  context.globalAlpha = alpha * before;
  draw();
  context.globalAlpha = before;
}

// The title in bold with the class name next to it, centered together.
function paintPair(context: CanvasRenderingContext2D, box: SceneBox, ink: string, room: number, y: number): void {
  const title = fitText(box.title, TITLE_FONT, room);
  const titleWidth = widthOf(title, TITLE_FONT);
  const subtitle = room - titleWidth > 40 ? fitText(box.subtitle, DETAIL_FONT, room - titleWidth - 6) : "";
  const total = titleWidth + (subtitle ? 6 + widthOf(subtitle, DETAIL_FONT) : 0);
  const left = box.rectWorld.x + (box.rectWorld.width - total) / 2;
  context.textAlign = "left";
  const end = text(context, title, TITLE_FONT, ink, left, y, room);
  if (subtitle) {
    softly(context, 0.75, () => text(context, subtitle, DETAIL_FONT, ink, end + 6, y, room));
  }
  context.textAlign = "center";
}

// Returns where left-aligned text ends.
function text(context: CanvasRenderingContext2D, content: string, font: string, color: string, x: number, y: number, room: number): number {
  if (room <= 8) return x;
  const fitted = fitText(content, font, room);
  context.font = font;
  if (rim !== undefined) {
    context.strokeStyle = rim;
    context.lineWidth = 3.5;
    context.lineJoin = "round";
    context.strokeText(fitted, x, y);
  }
  context.fillStyle = color;
  context.fillText(fitted, x, y);
  return x + widthOf(fitted, font);
}
