// Writes the text of boxes. From far away it is larger than it was laid out, so that it can still be read.

import type { Rect } from "../../base/geometry";
import { BESIDE_TITLE, ROW_SIGN, rowTitle, textRoom } from "../scene/caption";
import type { BoxPaint } from "../scene/paints";
import type { SceneBox } from "../scene/scene";
import { DETAIL_FONT, DETAIL_SIZE, fitText, scaledFont, TITLE_FONT, widthOf } from "../style/text";

// No text is smaller than this on the screen.
export const LEAST_PX = 10;
const TWO_LINES_PX = 26;
const ROW_PX = 12.5;
const BESIDE = 12;

// How much larger text is than it was laid out.
export function textScale(zoom: number): number {
  return Math.max(1, LEAST_PX / (DETAIL_SIZE * zoom));
}

// A context, and the scale of the text that is written on it.
export interface Pen {
  readonly context: CanvasRenderingContext2D;
  readonly scale: number;
}

// Cuts what does not fit. Returns where left-aligned text ends.
export function write({ context, scale }: Pen, content: string, font: string, color: string, x: number, y: number, room: number): number {
  if (room <= 8) return x;
  const fitted = fitText(content, font, room / scale);
  context.font = scaledFont(font, scale);
  context.fillStyle = color;
  context.fillText(fitted, x, y);
  return x + widthOf(fitted, font) * scale;
}

export function paintText(context: CanvasRenderingContext2D, box: SceneBox, face: Rect, paint: BoxPaint, zoom: number): void {
  const pen = { context, scale: textScale(zoom) };
  if (box.holder !== -1) {
    if (face.height * zoom >= ROW_PX) paintRowText(pen, box, face, paint);
  } else if (paint.detail === "" || face.height * zoom < TWO_LINES_PX) paintTitle(pen, box, face, paint.ink, zoom);
  else paintTwoLines(pen, box, face, paint);
  context.textAlign = "left";
}

// The title at the left, the number at the right, if there is room for both, and then the class between them.
function paintRowText(pen: Pen, box: SceneBox, face: Rect, paint: BoxPaint): void {
  const { context, scale } = pen;
  const middle = face.y + face.height / 2 + 1;
  const sign = box.shape === "group" ? ROW_SIGN : 0;
  const inner = { x: face.x + face.height / 2 + sign, width: face.width - face.height - sign };
  if (sign > 0) paintSign(context, inner.x - sign, middle - 1, paint.ink);
  context.textAlign = "left";
  const end = write(pen, rowTitle(box), TITLE_FONT, paint.ink, inner.x, middle, inner.width);
  const right = inner.x + inner.width - (box.chained ? face.height / 2 + 4 : 0);
  const number = widthOf(paint.detail, DETAIL_FONT) * scale;
  const between = right - BESIDE / 2 - number - end - BESIDE_TITLE;
  if (box.subtitle !== "" && between >= widthOf(box.subtitle, DETAIL_FONT) * scale)
    write(pen, box.subtitle, DETAIL_FONT, paint.ink, end + BESIDE_TITLE, middle, between);
  if (end + BESIDE / 2 + number > right) return;
  context.textAlign = "right";
  write(pen, paint.detail, DETAIL_FONT, paint.ink, right, middle, inner.width);
}

// A row with more inside, which a double click opens.
function paintSign(context: CanvasRenderingContext2D, x: number, y: number, color: string): void {
  context.beginPath();
  context.moveTo(x, y - 3.5);
  context.lineTo(x + 4, y);
  context.lineTo(x, y + 3.5);
  context.lineWidth = 1.5;
  context.strokeStyle = color;
  context.stroke();
}

// Without a second line, in the middle of the box.
function paintTitle(pen: Pen, box: SceneBox, face: Rect, ink: string, zoom: number): void {
  if (face.height * zoom < LEAST_PX) return;
  const middle = face.y + face.height / 2 + 1;
  // With the number of blocks.
  const title = box.subtitle.startsWith("×") ? `${box.title} ${box.subtitle}` : rowTitle(box);
  paintPair(pen, { title, subtitle: box.subtitle.startsWith("×") ? "" : box.subtitle }, face, ink, textRoom(box.shape, face.width), middle);
}

function paintTwoLines(pen: Pen, box: SceneBox, face: Rect, paint: BoxPaint): void {
  const room = textRoom(box.shape, face.width);
  const gap = Math.min(8, face.height / 5) * pen.scale ** 0.5;
  const middle = face.y + face.height / 2 + 1;
  paintPair(pen, { title: rowTitle(box), subtitle: box.subtitle }, face, paint.ink, room, middle - gap);
  if (widthOf(paint.detail, DETAIL_FONT) * pen.scale > room) return;
  pen.context.textAlign = "center";
  write(pen, paint.detail, DETAIL_FONT, paint.ink, face.x + face.width / 2, middle + gap, room);
}

// The title in bold with the class name next to it, centered together.
function paintPair(
  pen: Pen,
  { title, subtitle }: Pick<SceneBox, "title" | "subtitle">,
  face: Rect,
  ink: string,
  room: number,
  y: number,
): void {
  const { context, scale } = pen;
  const fitted = fitText(title, TITLE_FONT, room / scale);
  const titleWidth = widthOf(fitted, TITLE_FONT) * scale;
  const beside = room - titleWidth > 40 * scale ? fitText(subtitle, DETAIL_FONT, (room - titleWidth - 6) / scale) : "";
  const total = titleWidth + (beside === "" ? 0 : 6 + widthOf(beside, DETAIL_FONT) * scale);
  context.textAlign = "left";
  const end = write(pen, fitted, TITLE_FONT, ink, face.x + (face.width - total) / 2, y, room);
  if (beside !== "") write(pen, beside, DETAIL_FONT, ink, end + 6, y, room);
}
