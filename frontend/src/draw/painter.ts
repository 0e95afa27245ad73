// One frame of the drawing: what is in view, back to front.

import { intersects, type Rect, type Size } from "../base/geometry";
import { paintBox, paintFrame, paintFrameTitle, type Marks } from "./paint_boxes";
import { paintEdge, paintEdgeLabel } from "./paint_edges";
import type { Paints, Scene } from "./scene";
import type { Theme } from "./theme";

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
}

export function paint(context: CanvasRenderingContext2D, scene: Scene, paints: Paints, theme: Theme, view: View): void {
  const { camera, size, pixelRatio } = view;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.fillStyle = theme.background;
  context.fillRect(0, 0, size.width * pixelRatio, size.height * pixelRatio);
  const k = camera.k * pixelRatio;
  context.setTransform(k, 0, 0, k, camera.x * pixelRatio, camera.y * pixelRatio);
  context.textBaseline = "middle";
  const viewWorld = visibleWorld(camera, size);
  const marks = markBoxes(scene, view);
  const shown = scene.boxes.map((box) => intersects(box.rectWorld, viewWorld));
  scene.boxes.forEach((box, i) => {
    if (shown[i] && box.shape === "frame") paintFrame(context, box, marks[i]!, theme, camera.k);
  });
  paintEdges(context, scene, paints, theme, view, viewWorld);
  scene.boxes.forEach((box, i) => {
    if (shown[i] && box.shape === "frame") paintFrameTitle(context, box, paints.boxes[i]!, theme, camera.k);
  });
  scene.boxes.forEach((box, i) => {
    if (shown[i] && box.shape !== "frame") paintBox(context, box, paints.boxes[i]!, marks[i]!, theme, camera.k);
  });
}

function paintEdges(
  context: CanvasRenderingContext2D, scene: Scene, paints: Paints, theme: Theme, view: View, viewWorld: Rect,
): void {
  const near = (edge: { source: number; target: number }): boolean =>
    [view.selected, view.hovered].some((box) => box !== -1 && (edge.source === box || edge.target === box));
  const inView = scene.edges
    .map((edge, i) => ({ edge, paint: paints.edges[i]!, look: { backward: view.backward, marked: i === view.edge || near(edge) } }))
    .filter(({ edge }) => crosses(edge.pathWorld, viewWorld))
    .sort((a, b) => Number(a.look.marked) - Number(b.look.marked));
  for (const { edge, paint, look } of inView) paintEdge(context, edge, paint, look, theme, view.camera.k);
  for (const { edge, paint, look } of inView) paintEdgeLabel(context, edge, paint, look, theme, view.camera.k);
}

function crosses(path: readonly { x: number; y: number }[], rect: Rect): boolean {
  let left = Infinity;
  let right = -Infinity;
  let top = Infinity;
  let bottom = -Infinity;
  for (const { x, y } of path) {
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
  }
  return intersects({ x: left, y: top, width: right - left, height: bottom - top }, rect);
}

function markBoxes(scene: Scene, { selected, hovered }: View): readonly Marks[] {
  const near = new Set<number>();
  for (const { source, target } of scene.edges) {
    for (const box of [selected, hovered]) {
      if (box === -1 || scene.boxes[box]?.shape === "frame") continue;
      if (source === box) near.add(target);
      if (target === box) near.add(source);
    }
  }
  return scene.boxes.map((_, i) => ({ selected: i === selected, hovered: i === hovered, near: near.has(i) }));
}

export function visibleWorld({ x, y, k }: Camera, { width, height }: Size): Rect {
  return { x: -x / k, y: -y / k, width: width / k, height: height / k };
}
