// Paints edges. Forward, they follow the data. Backward, the same lines are reversed. They show the gradient, or forward
// the value if it was recorded, by width and label; otherwise they show shapes.

import type { Point } from "../../base/geometry";
import { LABEL_HEIGHT, MARK_RADIUS } from "../../layout/edge_labels";
import { State } from "../../model/visible/values";
import { DETAIL_SIZE, fitText, LABEL_FONT, widthOf } from "../style/text";
import type { Theme } from "../style/theme";
import { paintCut } from "./paint_marks";
import { LEAST_PX } from "./paint_text";
import type { EdgePaint } from "../scene/paints";
import type { SceneEdge } from "../scene/scene";

const BEND = 7;
const HEAD = 7;
// Below it, a label would be too small to read.
const LABEL_FROM = LEAST_PX / DETAIL_SIZE - 0.001;
const LABEL_ROOM = 96;

const MARK_FROM = 0.3;

export interface EdgeLook {
  readonly backward: boolean;
  readonly numbers: boolean; // the numbers belong to this direction
  readonly marked: boolean;
  readonly lit: boolean; // on the path from the box under the pointer to the loss or to a leaf
}

export function paintEdge(
  context: CanvasRenderingContext2D,
  edge: SceneEdge,
  paint: EdgePaint,
  look: EdgeLook,
  theme: Theme,
  zoom: number,
): void {
  const thin = 1 / Math.min(1, Math.max(zoom, 0.35));
  const width = lineWidth(paint, look);
  const color = colorOf(paint, look, theme);
  context.strokeStyle = color;
  context.lineWidth = (look.marked ? Math.max(width, 2) : width) * thin;
  context.setLineDash(isDashed(paint, look) ? [4, 4] : []);
  strokePath(context, edge.pathWorld);
  context.setLineDash([]);
  if (zoom < 0.2) return;
  if (edge.cut) paintCut(context, edge.pathWorld, theme, zoom);
  const path = edge.pathWorld;
  const [tip, before] = look.backward ? [path[0]!, path[1]!] : [path[path.length - 1]!, path[path.length - 2]!];
  paintHead(context, tip, before, color, HEAD + (look.numbers ? 2 * paint.weight : 0));
}

// The larger the number, the thicker the line.
export function lineWidth(paint: Pick<EdgePaint, "state" | "weight">, { numbers }: EdgeLook): number {
  return numbers && paint.state === State.number ? 1 + 3.5 * paint.weight : 1.2;
}

export function isDashed(paint: EdgePaint, { numbers }: EdgeLook): boolean {
  return numbers && paint.told && paint.state === State.none;
}

export function colorOf(paint: EdgePaint, look: EdgeLook, theme: Theme): string {
  if (look.marked || look.lit) return theme.accent;
  if (!look.numbers) return theme.edge;
  if (paint.state === State.nonfinite) return theme.nonfinite;
  return paint.state === State.number ? theme.edge : theme.edgeSoft;
}

function towards(from: Point, to: Point, by: number): Point {
  const part = by / Math.max(1e-9, distance(from, to));
  return { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part };
}

function strokePath(context: CanvasRenderingContext2D, path: readonly Point[]): void {
  context.beginPath();
  const first = path[0]!;
  context.moveTo(first.x, first.y);
  for (let i = 1; i < path.length - 1; i++) {
    const corner = path[i]!;
    const next = path[i + 1]!;
    const before = path[i - 1]!;
    const bend = Math.min(BEND, distance(before, corner) / 2, distance(corner, next) / 2);
    const [from, to] = [towards(corner, before, bend), towards(corner, next, bend)];
    // arcTo is not used, because in saved SVGs it bends the wrong way at every other corner.
    context.lineTo(from.x, from.y);
    context.quadraticCurveTo(corner.x, corner.y, to.x, to.y);
  }
  const last = path[path.length - 1]!;
  context.lineTo(last.x, last.y);
  context.stroke();
}

function paintHead(context: CanvasRenderingContext2D, tip: Point, before: Point, color: string, size: number): void {
  const length = distance(before, tip) || 1;
  const dx = ((tip.x - before.x) / length) * size;
  const dy = ((tip.y - before.y) / length) * size;
  context.beginPath();
  context.moveTo(tip.x, tip.y);
  context.lineTo(tip.x - dx - dy * 0.5, tip.y - dy + dx * 0.5);
  context.lineTo(tip.x - dx + dy * 0.5, tip.y - dy - dx * 0.5);
  context.closePath();
  context.fillStyle = color;
  context.fill();
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

export function paintEdgeLabel(
  context: CanvasRenderingContext2D,
  edge: SceneEdge,
  paint: EdgePaint,
  look: EdgeLook,
  theme: Theme,
  zoom: number,
): void {
  const content = look.numbers ? paint.label : edge.shapeLabel;
  if (edge.labelWorld === undefined || content === "" || zoom < LABEL_FROM) return;
  const fitted = fitText(content, LABEL_FONT, LABEL_ROOM);
  const width = widthOf(fitted, LABEL_FONT) + 8;
  // Next to the mark, if there is one.
  const x = edge.labelWorld.x + (edge.markWorld === undefined ? 0 : MARK_RADIUS + 2 + width / 2);
  const { y } = edge.labelWorld;
  context.beginPath();
  context.roundRect(x - width / 2, y - LABEL_HEIGHT / 2, width, LABEL_HEIGHT, 4);
  context.fillStyle = theme.surface;
  context.fill();
  context.font = LABEL_FONT;
  context.textAlign = "center";
  const bad = look.numbers && paint.state === State.nonfinite;
  context.fillStyle = bad ? theme.nonfinite : look.marked ? theme.accent : look.numbers ? theme.ink : theme.inkSoft;
  context.fillText(fitted, x, y);
  context.textAlign = "left";
}

// Three dots: operations that only change the shape are folded in here.
export function paintChainMark(
  context: CanvasRenderingContext2D,
  edge: SceneEdge,
  _paint: EdgePaint,
  look: EdgeLook,
  theme: Theme,
  zoom: number,
): void {
  if (edge.markWorld === undefined || zoom < MARK_FROM) return;
  const { x, y } = edge.markWorld;
  context.beginPath();
  context.arc(x, y, MARK_RADIUS, 0, 2 * Math.PI);
  context.fillStyle = theme.surface;
  context.fill();
  context.lineWidth = 1.2;
  context.strokeStyle = look.marked || look.lit ? theme.accent : theme.edge;
  context.stroke();
  context.fillStyle = theme.inkSoft;
  for (const shift of [-3.2, 0, 3.2]) {
    context.beginPath();
    context.arc(x + shift, y, 1.1, 0, 2 * Math.PI);
    context.fill();
  }
}
