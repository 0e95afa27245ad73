// What each canvas of the panel needs: a context without transparency, one paint per frame, its size.

import type { Dispose } from "../../base/disposer";

export function opaqueContext(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const context = canvas.getContext("2d", { alpha: false });
  if (context === null) throw new Error("This browser has no 2D canvas.");
  return context;
}

// However often a paint is requested, a frame has at most one.
export class Frames {
  private frame = 0;

  constructor(private readonly paint: () => void) {}

  request(): void {
    this.cancel();
    this.frame = requestAnimationFrame(this.paint);
  }

  cancel(): void {
    cancelAnimationFrame(this.frame);
  }
}

// Calls `measure` now and whenever the size of `canvas` changes.
export function followSize(canvas: HTMLCanvasElement, measure: () => void): Dispose {
  const observer = new ResizeObserver(measure);
  observer.observe(canvas);
  measure();
  return () => observer.disconnect();
}
