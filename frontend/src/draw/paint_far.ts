// The drawing from afar, where thousands of boxes are in view and none is larger than a
// word: plain rectangles and lines, in batches of one color.

import { State } from "../model/values";
import { colorOf, isDashed, lineWidth, type EdgeLook } from "./paint_edges";
import type { Paints, Scene } from "./scene";
import type { Theme } from "./theme";

export const FAR_BELOW = 0.2;
// From here on borders tell leaves, inputs and the loss.
const BORDERS_FROM = 0.08;
const WIDTHS = 4;

const orders = new WeakMap<Paints, readonly number[]>();

// A canvas takes long to change a color, so boxes go by theirs.
function byFill(paints: Paints): readonly number[] {
  const known = orders.get(paints) ?? [...paints.boxes.keys()].sort((a, b) => (paints.boxes[a]!.fill < paints.boxes[b]!.fill ? -1 : 1));
  orders.set(paints, known);
  return known;
}

export function paintFarBoxes(context: CanvasRenderingContext2D, scene: Scene, paints: Paints, isShown: (box: number) => boolean, theme: Theme, zoom: number): void {
  let fill = "";
  for (const i of byFill(paints)) {
    const { rectWorld, shape } = scene.boxes[i]!;
    if (shape === "frame" || !isShown(i)) continue;
    if (paints.boxes[i]!.fill !== fill) context.fillStyle = fill = paints.boxes[i]!.fill;
    context.fillRect(rectWorld.x, rectWorld.y, rectWorld.width, rectWorld.height);
  }
  if (zoom < BORDERS_FROM) return;
  const borders: Readonly<Partial<Record<string, string>>> = { parameter: theme.leaf, leaf: theme.leaf, input: theme.input, buffer: theme.input, root: theme.root };
  context.lineWidth = 1 / zoom;
  for (const color of new Set(Object.values(borders))) {
    context.beginPath();
    scene.boxes.forEach(({ rectWorld: { x, y, width, height }, shape }, i) => {
      if (borders[shape] === color && isShown(i)) context.rect(x, y, width, height);
    });
    context.strokeStyle = color!;
    context.stroke();
  }
}

// Lines as straight pieces, by color and width; which edges, in `edges`.
export function paintFarEdges(context: CanvasRenderingContext2D, scene: Scene, paints: Paints, edges: readonly number[], look: EdgeLook, theme: Theme, zoom: number): void {
  const batches = new Map<string, { readonly color: string; readonly width: number; readonly dashed: boolean; readonly edges: number[] }>();
  for (const i of edges) {
    const paint = paints.edges[i]!;
    const weight = paint.state === State.number ? Math.round(paint.weight * WIDTHS) / WIDTHS : paint.weight;
    const [color, width, dashed] = [colorOf(paint, look, theme), lineWidth({ state: paint.state, weight }, look), isDashed(paint, look)];
    const key = `${color} ${width} ${dashed}`;
    const known = batches.get(key);
    if (known === undefined) batches.set(key, { color, width, dashed, edges: [i] });
    else known.edges.push(i);
  }
  const thin = 1 / Math.max(zoom, 0.35);
  for (const batch of batches.values()) {
    context.beginPath();
    for (const i of batch.edges) scene.edges[i]!.pathWorld.forEach(({ x, y }, at) => (at === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
    context.strokeStyle = batch.color;
    context.lineWidth = batch.width * thin;
    context.setLineDash(batch.dashed ? [8, 8] : []);
    context.stroke();
  }
  context.setLineDash([]);
}
