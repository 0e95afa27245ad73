// Paints the drawing from far away, when thousands of small boxes are in view: plain rectangles and
// lines, in batches of one color.

import { State } from "../../model/visible/values";
import type { Theme } from "../style/theme";
import { colorOf, isDashed, lineWidth, type EdgeLook } from "./paint_edges";
import type { Paints } from "../scene/paints";
import type { Scene, SceneBox } from "../scene/scene";

export const FAR_BELOW = 0.2;
// From this zoom on, borders mark leaves, inputs and the loss.
const BORDERS_FROM = 0.08;
const WIDTHS = 4;
// If lines are very thin, those of less than this length on the screen cannot be seen next to their boxes.
const HAIR_BELOW = 0.06;
const SHORT_PX = 5;

const batches = new WeakMap<Paints, ReadonlyMap<string, readonly number[]>>();

// Changing the color of a canvas is slow, so boxes are painted color by color.
function byFill(scene: Scene, paints: Paints): ReadonlyMap<string, readonly number[]> {
  let known = batches.get(paints);
  if (known === undefined) {
    batches.set(paints, (known = grouped(paints.boxes.length, (i) => lookFromFar(scene.boxes[i]!, paints.boxes[i]!.fill))));
    batches.set(paints, (known = new Map([...known].sort(([a], [b]) => a.charCodeAt(0) - b.charCodeAt(0)))));
  }
  return known;
}

// Rows come after the boxes that hold them.
function lookFromFar({ shape, holder }: SceneBox, fill: string): string | undefined {
  return shape === "frame" ? undefined : `${holder === -1 ? 0 : 1}${fill}`;
}

function grouped<K>(length: number, keyOf: (i: number) => K | undefined): ReadonlyMap<K, readonly number[]> {
  const groups = new Map<K, number[]>();
  for (let i = 0; i < length; i++) {
    const key = keyOf(i);
    if (key === undefined) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [i]);
    else group.push(i);
  }
  return groups;
}

// Open groups, from the outermost inward. Groups of one depth do not overlap.
export function paintFarFrames(
  context: CanvasRenderingContext2D,
  scene: Scene,
  frames: readonly number[],
  theme: Theme,
  zoom: number,
): void {
  const byDepth = grouped(frames.length, (i) => scene.boxes[frames[i]!]!.depth);
  context.lineWidth = 1 / zoom;
  context.strokeStyle = theme.groupBorder;
  for (const depth of [...byDepth.keys()].sort((a, b) => a - b)) {
    context.fillStyle = theme.groupFill[depth % 2]!;
    for (const i of byDepth.get(depth)!) {
      const { x, y, width, height } = scene.boxes[frames[i]!]!.rectWorld;
      context.fillRect(x, y, width, height);
      context.strokeRect(x, y, width, height);
    }
  }
}

export function paintFarBoxes(
  context: CanvasRenderingContext2D,
  scene: Scene,
  paints: Paints,
  isShown: (box: number) => boolean,
  theme: Theme,
  zoom: number,
): void {
  for (const [key, boxes] of byFill(scene, paints)) {
    context.fillStyle = key.slice(1);
    for (const i of boxes) {
      if (!isShown(i)) continue;
      const { x, y, width, height } = scene.boxes[i]!.rectWorld;
      context.fillRect(x, y, width, height);
    }
  }
  if (zoom < BORDERS_FROM) return;
  const borders: Readonly<Partial<Record<string, string>>> = {
    parameter: theme.leaf,
    leaf: theme.leaf,
    input: theme.input,
    buffer: theme.input,
    root: theme.root,
  };
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

// The lines of `edges` as straight pieces, by color and width.
export function paintFarEdges(
  context: CanvasRenderingContext2D,
  scene: Scene,
  paints: Paints,
  edges: readonly number[],
  look: EdgeLook,
  theme: Theme,
  zoom: number,
): void {
  const least = zoom < HAIR_BELOW && !look.lit ? SHORT_PX / zoom : 0;
  const seen = edges.filter((i) => scene.edges[i]!.boundsWorld.width + scene.edges[i]!.boundsWorld.height >= least);
  const looks = grouped(seen.length, (at) => {
    const paint = paints.edges[seen[at]!]!;
    const weight = paint.state === State.number ? Math.round(paint.weight * WIDTHS) / WIDTHS : 0;
    return `${colorOf(paint, look, theme)} ${lineWidth({ state: paint.state, weight }, look)} ${isDashed(paint, look) ? 8 : ""}`;
  });
  for (const [key, members] of looks) {
    const [color, width, dash] = key.split(" ");
    context.beginPath();
    for (const at of members)
      scene.edges[seen[at]!]!.pathWorld.forEach(({ x, y }, i) => (i === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
    context.strokeStyle = color!;
    context.lineWidth = Number(width) / Math.max(zoom, 0.35);
    context.setLineDash(dash === "" ? [] : [8, 8]);
    context.stroke();
  }
  context.setLineDash([]);
}
