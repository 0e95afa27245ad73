// Pan and zoom, on top of d3-zoom.

import { select } from "d3-selection";
import { zoom, zoomIdentity, zoomTransform } from "d3-zoom";
import type { Dispose } from "../../base/disposer";
import type { Point, Rect, Size } from "../../base/geometry";
import type { Camera } from "../graph/painter";

const MARGIN = 28;
const CLOSEST = 4;
const FARTHEST = 0.01;
// If a drawing fits only below this zoom, its top is shown at the start instead.
const READABLE = 0.5;
// If a drawing is this many times as wide as the view, the middle of its top may be empty.
const WIDE = 4;

export class CameraControl {
  private readonly behavior = zoom<HTMLCanvasElement, unknown>();
  private readonly selection;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    onMove: (camera: Camera) => void,
  ) {
    this.selection = select(canvas);
    this.behavior
      .scaleExtent([FARTHEST, CLOSEST])
      .clickDistance(4)
      .on("zoom", (event: { transform: Camera }) => onMove(event.transform));
    // A double click opens a group; it does not zoom.
    this.selection.call(this.behavior).on("dblclick.zoom", null);
  }

  get camera(): Camera {
    const { x, y, k } = zoomTransform(this.canvas);
    return { x, y, k };
  }

  set({ x, y, k }: Camera): void {
    this.selection.call(this.behavior.transform, zoomIdentity.translate(x, y).scale(k));
  }

  zoomBy(factor: number): void {
    this.selection.call(this.behavior.scaleBy, factor);
  }

  readonly dispose: Dispose = () => {
    this.selection.on(".zoom", null);
  };
}

export function fitCamera(boundsWorld: Rect, size: Size): Camera {
  const k = Math.min(
    1.25,
    Math.max(FARTHEST, (size.width - 2 * MARGIN) / boundsWorld.width),
    Math.max(FARTHEST, (size.height - 2 * MARGIN) / boundsWorld.height),
  );
  return {
    k,
    x: size.width / 2 - (boundsWorld.x + boundsWorld.width / 2) * k,
    y: size.height / 2 - (boundsWorld.y + boundsWorld.height / 2) * k,
  };
}

// Moves the drawing into view by as little as needed. Shrinks it only if it does not fit.
export function bringIn(camera: Camera, boundsWorld: Rect, size: Size): Camera {
  const { k } = camera;
  if (boundsWorld.width * k > size.width - MARGIN || boundsWorld.height * k > size.height - MARGIN) return fitCamera(boundsWorld, size);
  const into = (at: number, low: number, length: number, room: number): number =>
    Math.max(MARGIN / 2 - low * k, Math.min(at, room - MARGIN / 2 - (low + length) * k));
  return {
    k,
    x: into(camera.x, boundsWorld.x, boundsWorld.width, size.width),
    y: into(camera.y, boundsWorld.y, boundsWorld.height, size.height),
  };
}

// The first view: everything if it is readable, else the top.
export function startCamera(boundsWorld: Rect, size: Size): Camera {
  const fit = fitCamera(boundsWorld, size);
  if (fit.k >= READABLE || boundsWorld.width * READABLE > WIDE * size.width) return fit;
  const k = Math.max(fit.k, Math.min(0.8, Math.max(READABLE, (size.width - 2 * MARGIN) / boundsWorld.width)));
  return { k, x: size.width / 2 - (boundsWorld.x + boundsWorld.width / 2) * k, y: MARGIN - boundsWorld.y * k };
}

export function toWorld({ x, y, k }: Camera, pointScreen: Point): Point {
  return { x: (pointScreen.x - x) / k, y: (pointScreen.y - y) / k };
}

export function toScreen({ x, y, k }: Camera, pointWorld: Point): Point {
  return { x: pointWorld.x * k + x, y: pointWorld.y * k + y };
}
