// The camera as a link keeps it: its zoom, and how far the middle of the view is from a box. So it shows the same in a
// window of another size, in which the drawing has another layout.

import { center, type Point, type Size } from "../../base/geometry";
import type { Camera } from "../graph/painter";
import type { Scene, SceneBox } from "../scene/scene";
import { toWorld } from "./camera";

// "zoom,x,y,id": from the middle of the box to that of the view. Undefined if nothing is drawn.
export function anchorText({ boxes }: Scene, camera: Camera, { width, height }: Size): string | undefined {
  const middle = toWorld(camera, { x: width / 2, y: height / 2 });
  const away = ({ rectWorld }: SceneBox): Point => ({ x: middle.x - center(rectWorld).x, y: middle.y - center(rectWorld).y });
  const size = ({ x, y }: Point): number => Math.hypot(x, y);
  // A frame is as large as what is open in it.
  const [first, ...others] = boxes.filter(({ shape }) => shape !== "frame");
  if (first === undefined) return undefined;
  const nearest = others.reduce((best, box) => (size(away(box)) < size(away(best)) ? box : best), first);
  const { x, y } = away(nearest);
  return `${camera.k.toFixed(3)},${Math.round(x)},${Math.round(y)},${nearest.id}`;
}

// Undefined if the drawing has no such box.
export function anchoredCamera({ boxes, indexOf }: Scene, text: string, { width, height }: Size): Camera | undefined {
  const [, zoom, right, down, id = ""] = /^([\d.]+),(-?\d+),(-?\d+),(.*)$/s.exec(text) ?? [];
  const box = boxes[indexOf.get(id) ?? -1];
  const k = Number(zoom);
  if (box === undefined || !(k > 0)) return undefined;
  const { x, y } = center(box.rectWorld);
  return { k, x: width / 2 - (x + Number(right)) * k, y: height / 2 - (y + Number(down)) * k };
}
