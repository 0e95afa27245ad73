// Paints the minimap: the whole drawing, small, with a frame around the part in view.

import { encloses, type Point, type Rect, type Size } from "../../base/geometry";
import { visibleWorld, type Camera } from "../graph/painter";
import type { Paints } from "../scene/paints";
import type { Scene } from "../scene/scene";
import type { Theme } from "../style/theme";

const MOST: Size = { width: 150, height: 190 };
const LEAST_PX = 28;
const MARGIN = 5;

export interface Small {
  readonly size: Size; // CSS pixels
  readonly k: number; // pixels per world unit
  readonly x: number;
  readonly y: number;
}

// Undefined if everything is in view, so that a minimap is not needed.
export function smallFor(boundsWorld: Rect, camera: Camera, viewSize: Size): Small | undefined {
  if (encloses(visibleWorld(camera, viewSize), boundsWorld)) return undefined;
  const k = Math.min((MOST.width - 2 * MARGIN) / boundsWorld.width, (MOST.height - 2 * MARGIN) / boundsWorld.height);
  const size = {
    width: Math.max(LEAST_PX, Math.ceil(boundsWorld.width * k) + 2 * MARGIN),
    height: Math.max(LEAST_PX, Math.ceil(boundsWorld.height * k) + 2 * MARGIN),
  };
  return {
    size,
    k,
    x: (size.width - boundsWorld.width * k) / 2 - boundsWorld.x * k,
    y: (size.height - boundsWorld.height * k) / 2 - boundsWorld.y * k,
  };
}

export function worldAt({ k, x, y }: Small, point: Point): Point {
  return { x: (point.x - x) / k, y: (point.y - y) / k };
}

export function paintSmall(
  context: CanvasRenderingContext2D,
  scene: Scene,
  paints: Paints,
  theme: Theme,
  small: Small,
  pixelRatio: number,
): void {
  context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
  context.fillStyle = theme.surface;
  context.fillRect(0, 0, small.size.width, small.size.height);
  const rectOf = ({ x, y, width, height }: Rect): readonly [number, number, number, number] => [
    x * small.k + small.x,
    y * small.k + small.y,
    Math.max(1, width * small.k),
    Math.max(1, height * small.k),
  ];
  scene.boxes.forEach(({ shape, rectWorld, depth }, i) => {
    context.fillStyle = shape === "frame" ? theme.groupFill[(depth + 1) % 2]! : paints.boxes[i]!.fill;
    context.fillRect(...rectOf(rectWorld));
    if (shape !== "frame") return;
    context.strokeStyle = theme.groupBorder;
    context.lineWidth = 0.5;
    context.strokeRect(...rectOf(rectWorld));
  });
}

export function paintSight(context: CanvasRenderingContext2D, camera: Camera, viewSize: Size, theme: Theme, small: Small): void {
  const view = visibleWorld(camera, viewSize);
  const { width, height } = small.size;
  const left = Math.max(1, view.x * small.k + small.x);
  const top = Math.max(1, view.y * small.k + small.y);
  const right = Math.min(width - 1, (view.x + view.width) * small.k + small.x);
  const bottom = Math.min(height - 1, (view.y + view.height) * small.k + small.y);
  context.lineWidth = 1.5;
  context.strokeStyle = theme.accent;
  context.fillStyle = `${theme.accent}1c`;
  context.fillRect(left, top, right - left, bottom - top);
  context.strokeRect(left, top, right - left, bottom - top);
}
