// Pan and zoom, on top of d3-zoom.

import { select } from "d3-selection";
import { zoom, zoomIdentity, zoomTransform } from "d3-zoom";
import { Disposer, listen } from "../../base/disposer";
import { center, type Point, type Rect, type Size } from "../../base/geometry";
import type { Camera } from "../graph/painter";
import { turnOf } from "./wheel";

const MARGIN = 14;
const CLOSEST = 4;
const FARTHEST = 0.01;
// At this zoom all text is as it was laid out. Down to a little less, names still fit into their boxes.
const READING = 0.84;
const READABLE = 0.8;
const LARGEST = 1.25;
const AROUND_PX = 24;
const NARROWEST_PX = 320;

export class CameraControl {
  private readonly behavior = zoom<HTMLCanvasElement, unknown>();
  private readonly selection;
  private readonly disposer = new Disposer();

  constructor(
    private readonly canvas: HTMLCanvasElement,
    onMove: (camera: Camera) => void,
    private readonly scrollZooms: () => boolean = () => false,
  ) {
    this.selection = select(canvas);
    this.behavior
      .scaleExtent([FARTHEST, CLOSEST])
      .clickDistance(4)
      .on("zoom", (event: { transform: Camera }) => onMove(event.transform));
    // A double click opens a group; it does not zoom. The wheel is ours.
    this.selection.call(this.behavior).on("dblclick.zoom", null).on("wheel.zoom", null);
    this.disposer.add(() => this.selection.on(".zoom", null));
    this.disposer.add(listen<WheelEvent>(canvas, "wheel", (event) => this.turn(event), { passive: false }));
    this.watchPinch();
  }

  private turn(event: WheelEvent): void {
    event.preventDefault();
    const turn = turnOf(event, this.scrollZooms());
    const { k } = this.camera;
    if ("factor" in turn) this.selection.call(this.behavior.scaleBy, turn.factor, [event.offsetX, event.offsetY]);
    else this.selection.call(this.behavior.translateBy, turn.dx / k, turn.dy / k);
  }

  // Safari reports a pinch by events of its own, with the scale since it began.
  private watchPinch(): void {
    let last = 1;
    const pinch = (event: UIEvent & { readonly scale?: number; readonly offsetX?: number; readonly offsetY?: number }): void => {
      event.preventDefault();
      const { scale = 1, offsetX = 0, offsetY = 0 } = event;
      if (event.type === "gesturechange") this.selection.call(this.behavior.scaleBy, scale / last, [offsetX, offsetY]);
      last = scale;
    };
    for (const type of ["gesturestart", "gesturechange", "gestureend"]) this.disposer.add(listen(this.canvas, type, pinch));
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

  readonly dispose = (): void => this.disposer.dispose();
}

export function fitCamera(boundsWorld: Rect, size: Size): Camera {
  const k = Math.min(
    LARGEST,
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

// The first view: everything if it can be read, else the part around `focusWorld`.
export function startCamera(boundsWorld: Rect, size: Size, focusWorld: Rect): Camera {
  const fit = fitCamera(boundsWorld, size);
  return fit.k >= READABLE ? fit : cameraOn(boundsWorld, size, center(focusWorld), READING);
}

// With a point in the middle, as far as the drawing reaches.
export function cameraOn(boundsWorld: Rect, size: Size, { x, y }: Point, k: number): Camera {
  const along = (at: number, low: number, length: number, room: number): number => {
    if (length * k <= room - 2 * MARGIN) return room / 2 - (low + length / 2) * k;
    return Math.max(room - MARGIN - (low + length) * k, Math.min(MARGIN - low * k, room / 2 - at * k));
  };
  return { k, x: along(x, boundsWorld.x, boundsWorld.width, size.width), y: along(y, boundsWorld.y, boundsWorld.height, size.height) };
}

// The drawing in parts as large as the view, row by row. Undefined if it fits.
export function partInView(
  boundsWorld: Rect,
  { x, y, k }: Camera,
  size: Size,
): { readonly part: number; readonly count: number } | undefined {
  const { across, down } = partsOf(boundsWorld, k, size);
  if (across * down === 1) return undefined;
  const at = (offset: number, low: number, length: number, room: number, count: number): number =>
    count === 1 ? 0 : Math.max(0, Math.min(count - 1, Math.round(((-offset - low * k) / Math.max(1, length * k - room)) * (count - 1))));
  const column = at(x, boundsWorld.x, boundsWorld.width, size.width, across);
  const row = at(y, boundsWorld.y, boundsWorld.height, size.height, down);
  return { part: row * across + column + 1, count: across * down };
}

export function cameraAtPart(boundsWorld: Rect, k: number, size: Size, part: number): Camera {
  const { across, down } = partsOf(boundsWorld, k, size);
  const middle = (at: number, count: number, low: number, length: number, room: number): number => {
    const half = room / k / 2;
    return count === 1 ? low + length / 2 : low + half + (at / (count - 1)) * (length - 2 * half);
  };
  const point = {
    x: middle((part - 1) % across, across, boundsWorld.x, boundsWorld.width, size.width),
    y: middle(Math.floor((part - 1) / across), down, boundsWorld.y, boundsWorld.height, size.height),
  };
  return cameraOn(boundsWorld, size, point, k);
}

function partsOf({ width, height }: Rect, k: number, size: Size): { readonly across: number; readonly down: number } {
  return { across: Math.max(1, Math.ceil((width * k) / size.width)), down: Math.max(1, Math.ceil((height * k) / size.height)) };
}

// Everything at its own size, for a saved picture, which has room for what is written below it.
export function wholeView({ x, y, width, height }: Rect): { readonly room: Size; readonly camera: Camera } {
  const room = { width: Math.max(NARROWEST_PX, width + 2 * AROUND_PX), height: height + 2 * AROUND_PX };
  return { room, camera: { k: 1, x: (room.width - width) / 2 - x, y: AROUND_PX - y } };
}

export function toWorld({ x, y, k }: Camera, pointScreen: Point): Point {
  return { x: (pointScreen.x - x) / k, y: (pointScreen.y - y) / k };
}

export function toScreen({ x, y, k }: Camera, pointWorld: Point): Point {
  return { x: pointWorld.x * k + x, y: pointWorld.y * k + y };
}
