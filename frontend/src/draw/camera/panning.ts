// Paints frames while the drawing is only shifted. The painted pixels are moved, and only the new
// part is painted. So the cost of a frame does not depend on the number of boxes in view.

import type { Rect } from "../../base/geometry";
import { deviceSize, paint, type Camera, type View } from "../graph/painter";
import type { Paints } from "../scene/paints";
import type { Scene } from "../scene/scene";
import type { Theme } from "../style/theme";

export class Panning {
  private painted: { readonly of: readonly unknown[]; readonly camera: Camera } | undefined;

  // Other code changed the canvas.
  forget(): void {
    this.painted = undefined;
  }

  paint(context: CanvasRenderingContext2D, scene: Scene, paints: Paints, theme: Theme, view: View): void {
    const { camera, pixelRatio, size, cell, ...rest } = view;
    const of = [scene, paints, theme, pixelRatio, camera.k, size.width, size.height, cell?.box, cell?.cell, ...Object.values(rest)];
    const before = this.painted?.of.every((one, i) => one === of[i]) === true ? this.painted.camera : undefined;
    this.painted = { of, camera };
    if (before === undefined) return paint(context, scene, paints, theme, view);
    // By whole pixels, so that it stays sharp. The rest, less than half a pixel, is moved later.
    const dx = Math.round((camera.x - before.x) * pixelRatio);
    const dy = Math.round((camera.y - before.y) * pixelRatio);
    const at = { k: camera.k, x: before.x + dx / pixelRatio, y: before.y + dy / pixelRatio };
    this.painted = { of, camera: at };
    if (dx === 0 && dy === 0) return;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(context.canvas, dx, dy);
    for (const part of cameIn(dx, dy, deviceSize(view))) paint(context, scene, paints, theme, { ...view, camera: at }, part);
  }
}

function cameIn(dx: number, dy: number, { width, height }: { readonly width: number; readonly height: number }): readonly Rect[] {
  const [across, down] = [Math.min(width, Math.abs(dx)), Math.min(height, Math.abs(dy))];
  const parts = [
    { x: dx > 0 ? 0 : width - across, y: 0, width: across, height },
    { x: 0, y: dy > 0 ? 0 : height - down, width, height: down },
  ];
  return parts.filter((part) => part.width > 0 && part.height > 0);
}
