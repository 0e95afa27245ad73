// Updates the minimap, and moves the view when it is clicked or dragged.

import { Disposer, listen } from "../../base/disposer";
import type { Point, Size } from "../../base/geometry";
import { paintSight, paintSmall, smallFor, worldAt, type Small } from "../../draw/camera/paint_minimap";
import type { Camera } from "../../draw/graph/painter";
import type { Paints } from "../../draw/scene/paints";
import type { Scene } from "../../draw/scene/scene";
import type { Theme } from "../../draw/style/theme";

export class Minimap {
  private readonly disposer = new Disposer();
  private readonly context: CanvasRenderingContext2D | null;
  // Boxes change rarely. The frame around the visible part changes all the time.
  private readonly still = document.createElement("canvas");
  private small: Small | undefined;
  private painted: readonly unknown[] = [];

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly goTo: (pointWorld: Point) => void,
  ) {
    this.context = canvas.getContext("2d", { alpha: false });
    this.disposer.add(
      listen<PointerEvent>(canvas, "pointerdown", (event) => {
        canvas.setPointerCapture(event.pointerId);
        this.follow(event);
      }),
    );
    this.disposer.add(
      listen<PointerEvent>(canvas, "pointermove", (event) => {
        if (event.buttons === 1) this.follow(event);
      }),
    );
  }

  close(): void {
    this.disposer.dispose();
  }

  update(scene: Scene, paints: Paints, theme: Theme, camera: Camera, viewSize: Size): void {
    this.small = smallFor(scene.boundsWorld, camera, viewSize);
    this.canvas.hidden = this.small === undefined;
    if (this.small === undefined || this.context === null) return;
    const ratio = window.devicePixelRatio;
    this.paintStill(scene, paints, theme, this.small, ratio);
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.drawImage(this.still, 0, 0);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    paintSight(this.context, camera, viewSize, theme, this.small);
  }

  private paintStill(scene: Scene, paints: Paints, theme: Theme, small: Small, ratio: number): void {
    const now = [scene, paints, theme, ratio];
    if (now.every((one, i) => one === this.painted[i])) return;
    this.painted = now;
    for (const canvas of [this.still, this.canvas]) {
      canvas.width = Math.round(small.size.width * ratio);
      canvas.height = Math.round(small.size.height * ratio);
    }
    this.canvas.style.width = `${small.size.width}px`;
    this.canvas.style.height = `${small.size.height}px`;
    const context = this.still.getContext("2d", { alpha: false });
    if (context !== null) paintSmall(context, scene, paints, theme, small, ratio);
  }

  private follow({ offsetX, offsetY }: PointerEvent): void {
    if (this.small !== undefined) this.goTo(worldAt(this.small, { x: offsetX, y: offsetY }));
  }
}
