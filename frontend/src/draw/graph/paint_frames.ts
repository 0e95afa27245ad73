// Paints the frames of open groups, and their heads over the lines.

import type { Rect } from "../../base/geometry";
import { TITLE_HEIGHT } from "../../layout/places/laid_out";
import type { BoxPaint } from "../scene/paints";
import type { SceneBox } from "../scene/scene";
import { DETAIL_FONT, TITLE_FONT, widthOf } from "../style/text";
import type { Theme } from "../style/theme";
import type { Marks } from "./paint_boxes";
import { textScale, write } from "./paint_text";
import { outline } from "./shapes";

const RADIUS = 10;

export function paintFrame(context: CanvasRenderingContext2D, box: SceneBox, marks: Marks, theme: Theme, zoom: number): void {
  outline(context, "frame", box.rectWorld);
  context.fillStyle = theme.groupFill[box.depth % 2]!;
  context.fill();
  context.lineWidth = (marks.selected ? 2 : marks.hovered ? 1.5 : 1) / Math.min(1, zoom);
  context.strokeStyle = marks.selected ? theme.accent : marks.hovered ? theme.inkSoft : theme.groupBorder;
  context.stroke();
}

// The head covers the lines that enter a group, so that none runs through its title or its number.
export function paintFrameHead(context: CanvasRenderingContext2D, box: SceneBox, paint: BoxPaint, theme: Theme, zoom: number): void {
  const { x, y, width } = box.rectWorld;
  const [thin, scale] = [1 / Math.min(1, zoom), textScale(zoom)];
  const pen = { context, scale };
  context.beginPath();
  context.roundRect(x + thin, y + thin, width - 2 * thin, TITLE_HEIGHT, [RADIUS - 1, RADIUS - 1, 0, 0]);
  context.fillStyle = theme.groupFill[box.depth % 2]!;
  context.fill();
  const middle = y + TITLE_HEIGHT / 2 + 2;
  chevron(context, x + 14, middle, theme.inkSoft);
  const detail = widthOf(paint.detail, DETAIL_FONT) * scale;
  const left = x + 24;
  const all = x + width - 36 - left;
  const title = widthOf(box.title, TITLE_FONT) * scale;
  // The name has priority over the number, which the swatch shows too.
  const withDetail = detail > 0 && title + detail + 10 <= all;
  const room = withDetail ? all - detail - 10 : all;
  context.textAlign = "left";
  const end = write(pen, box.title, TITLE_FONT, theme.ink, left, middle, room);
  const rest = left + room - end - 7;
  if (box.subtitle !== "" && rest > 40 * scale) write(pen, box.subtitle, DETAIL_FONT, theme.inkSoft, end + 7, middle, rest);
  if (withDetail) {
    context.textAlign = "right";
    write(pen, paint.detail, DETAIL_FONT, theme.inkSoft, x + width - 30, middle, detail + 1);
    context.textAlign = "left";
  }
  swatch(context, { x: x + width - 24, y: middle - 6, width: 12, height: 12 }, paint, theme);
}

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

function chevron(context: CanvasRenderingContext2D, x: number, y: number, color: string): void {
  context.beginPath();
  context.moveTo(x - 3.5, y - 2);
  context.lineTo(x, y + 2);
  context.lineTo(x + 3.5, y - 2);
  context.lineWidth = 1.5;
  context.strokeStyle = color;
  context.stroke();
}
