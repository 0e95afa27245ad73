// Paints one frame of the drawing: everything in view, from back to front.

import { intersects, type Rect, type Size } from "../../base/geometry";
import type { Lit } from "../../model/visible/paths";
import type { Theme } from "../style/theme";
import { HEADS_FROM, paintFarTitles } from "./level_of_detail";
import { paintBox, type Marks } from "./paint_boxes";
import { paintChainMark, paintEdge, paintEdgeLabel, type EdgeLook } from "./paint_edges";
import { paintFrame, paintFrameHead } from "./paint_frames";
import { FAR_BELOW, paintFarBoxes, paintFarEdges, paintFarFrames } from "./paint_far";
import type { Paints } from "../scene/paints";
import type { Scene } from "../scene/scene";

// World to screen: screen = world * k + (x, y), in CSS pixels.
export interface Camera {
  readonly x: number;
  readonly y: number;
  readonly k: number;
}

export interface View {
  readonly camera: Camera;
  readonly size: Size; // of the canvas, CSS pixels
  readonly pixelRatio: number;
  readonly backward: boolean;
  readonly selected: number; // boxes; -1: none
  readonly hovered: number;
  readonly edge: number; // chosen line; -1: none
  readonly cell?: { readonly box: number; readonly cell: number } | undefined; // where in a strip the selection is
  readonly lit?: Lit | undefined; // the path to the loss and to the leaves; everything else is pale
}

const BACK = 0.3;

// `only`: a part of the canvas, in whole device pixels. The rest does not change.
export function paint(context: CanvasRenderingContext2D, scene: Scene, paints: Paints, theme: Theme, view: View, only?: Rect): void {
  const { camera, size, pixelRatio } = view;
  const part = only ?? { x: 0, y: 0, ...deviceSize(view) };
  context.setTransform(1, 0, 0, 1, 0, 0);
  if (only !== undefined) clip(context, only);
  context.fillStyle = theme.background;
  context.fillRect(part.x, part.y, part.width, part.height);
  const k = camera.k * pixelRatio;
  context.setTransform(k, 0, 0, k, camera.x * pixelRatio, camera.y * pixelRatio);
  context.textBaseline = "middle";
  const toWorld = (along: number, offset: number): number => (along / pixelRatio - offset) / camera.k;
  const partWorld = { x: toWorld(part.x, camera.x), y: toWorld(part.y, camera.y), width: part.width / k, height: part.height / k };
  const far = camera.k < FAR_BELOW;
  const marksOf = marker(scene, view);
  const shown = indices(scene.boxes.length, (i) => intersects(scene.boxes[i]!.rectWorld, partWorld));
  const frames = shown.filter((i) => scene.boxes[i]!.shape === "frame");
  if (far) paintFarFrames(context, scene, frames, theme, camera.k);
  for (const i of far ? [view.hovered, view.selected].filter((i) => frames.includes(i)) : frames)
    paintFrame(context, scene.boxes[i]!, marksOf(i), theme, camera.k);
  paintEdges(context, scene, paints, theme, view, partWorld);
  if (camera.k >= HEADS_FROM) for (const i of frames) paintFrameHead(context, scene.boxes[i]!, paints.boxes[i]!, theme, camera.k);
  paintBoxes(context, scene, paints, theme, view, shown, marksOf);
  // Which titles fit depends on all titles in view.
  const viewWorld = visibleWorld(camera, size);
  const titled =
    camera.k < HEADS_FROM ? scene.boxes.filter(({ shape, rectWorld }) => shape === "frame" && intersects(rectWorld, viewWorld)) : [];
  paintFarTitles(context, titled, theme, camera.k);
  if (only !== undefined) context.restore();
}

function clip(context: CanvasRenderingContext2D, { x, y, width, height }: Rect): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
}

export function deviceSize({ size, pixelRatio }: Pick<View, "size" | "pixelRatio">): Size {
  return { width: Math.round(size.width * pixelRatio), height: Math.round(size.height * pixelRatio) };
}

function paintBoxes(
  context: CanvasRenderingContext2D,
  scene: Scene,
  paints: Paints,
  theme: Theme,
  view: View,
  shown: readonly number[],
  marksOf: (box: number) => Marks,
): void {
  const {
    camera: { k },
    lit,
  } = view;
  const one = (i: number): void => paintBox(context, scene.boxes[i]!, paints.boxes[i]!, marksOf(i), theme, k);
  if (k < FAR_BELOW) {
    const inView = new Uint8Array(scene.boxes.length);
    for (const i of shown) inView[i] = 1;
    for (const standsBack of lit === undefined ? [false] : [true, false]) {
      context.globalAlpha = standsBack ? BACK : 1;
      paintFarBoxes(context, scene, paints, (i) => inView[i] === 1 && (lit?.boxes[i] === 0) === standsBack, theme, k);
    }
    for (const i of [view.hovered, view.selected]) if (inView[i] === 1 && scene.boxes[i]!.shape !== "frame") one(i);
    return;
  }
  for (const rows of [false, true]) {
    for (const i of shown) {
      const { shape, holder } = scene.boxes[i]!;
      if (shape === "frame" || (holder !== -1) !== rows) continue;
      context.globalAlpha = lit?.boxes[i] === 0 ? BACK : 1;
      one(i);
    }
  }
  context.globalAlpha = 1;
  paintRowMarks(context, scene, paints, theme, view, shown);
  context.globalAlpha = 1;
}

// The marks of chains that are folded into the lines of rows.
function paintRowMarks(
  context: CanvasRenderingContext2D,
  scene: Scene,
  paints: Paints,
  theme: Theme,
  { camera, backward }: View,
  shown: readonly number[],
): void {
  const chained = new Set(shown.filter((i) => scene.boxes[i]!.chained));
  if (chained.size === 0) return;
  const look = { backward, numbers: false, marked: false, lit: false };
  scene.edges.forEach((edge, i) => {
    if (edge.held && chained.has(edge.source)) paintChainMark(context, edge, paints.edges[i]!, look, theme, camera.k);
  });
}

function indices(length: number, holds: (index: number) => boolean): number[] {
  const found: number[] = [];
  for (let i = 0; i < length; i++) if (holds(i)) found.push(i);
  return found;
}

function paintEdges(context: CanvasRenderingContext2D, scene: Scene, paints: Paints, theme: Theme, view: View, viewWorld: Rect): void {
  const { selected, hovered, lit, backward } = view;
  const numbers = backward || paints.half === "value";
  const look = (i: number): EdgeLook => {
    const { source, target } = scene.edges[i]!;
    const near = (box: number): boolean => box !== -1 && (source === box || target === box);
    return { backward, numbers, marked: i === view.edge || near(selected) || near(hovered), lit: lit?.lines[i] === 1 };
  };
  const inView = indices(scene.edges.length, (i) => !scene.edges[i]!.held && intersects(scene.edges[i]!.boundsWorld, viewWorld));
  const plain = { backward, numbers, marked: false, lit: false };
  if (view.camera.k < FAR_BELOW) {
    const isOver = (i: number): boolean => look(i).marked || look(i).lit;
    context.globalAlpha = lit === undefined ? 1 : BACK;
    paintFarEdges(
      context,
      scene,
      paints,
      inView.filter((i) => !isOver(i)),
      plain,
      theme,
      view.camera.k,
    );
    context.globalAlpha = 1;
    return paintFarEdges(context, scene, paints, inView.filter(isOver), { ...plain, lit: true }, theme, view.camera.k);
  }
  const order = ({ marked, lit: isLit }: EdgeLook): number => Number(marked) + Number(isLit);
  if (selected !== -1 || hovered !== -1 || view.edge !== -1) inView.sort((a, b) => order(look(a)) - order(look(b)));
  const each = (draw: typeof paintEdge): void => {
    for (const i of inView) {
      context.globalAlpha = lit === undefined || lit.lines[i] === 1 ? 1 : BACK;
      draw(context, scene.edges[i]!, paints.edges[i]!, look(i), theme, view.camera.k);
    }
    context.globalAlpha = 1;
  };
  each(paintEdge);
  each(paintEdgeLabel);
  each(paintChainMark);
}

function marker(scene: Scene, { selected, hovered, cell }: View): (box: number) => Marks {
  const near = new Set<number>();
  const around = [selected, hovered].filter((box) => box !== -1 && scene.boxes[box]?.shape !== "frame");
  if (around.length > 0) {
    for (const { source, target } of scene.edges) {
      if (around.includes(source)) near.add(target);
      if (around.includes(target)) near.add(source);
    }
  }
  return (i) => ({ selected: i === selected, hovered: i === hovered, near: near.has(i), cell: cell?.box === i ? cell.cell : -1 });
}

export function visibleWorld({ x, y, k }: Camera, { width, height }: Size): Rect {
  return { x: -x / k, y: -y / k, width: width / k, height: height / k };
}
