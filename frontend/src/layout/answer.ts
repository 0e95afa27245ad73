// What the worker sends, as columns: thousands of small objects take long to be copied.

import type { Point, Rect } from "../base/geometry";
import type { LaidOut } from "./laid_out";

export interface Packed {
  readonly rects: Float64Array<ArrayBuffer>; // x, y, width, height of each box and at last of all of them
  readonly starts: Int32Array<ArrayBuffer>; // of the path of each edge among the points; one more for the end
  readonly points: Float64Array<ArrayBuffer>; // x, y
  readonly labels: Float64Array<ArrayBuffer>; // x, y of each edge; NaN: none
}

export type Answer =
  | { readonly kind: "part"; readonly part: number } // 0..1
  | (Packed & { readonly kind: "laid"; readonly warning: string });

export function packLaid({ boxes, edges, bounds, labels }: LaidOut): Packed {
  const starts = new Int32Array(edges.length + 1);
  edges.forEach((path, edge) => (starts[edge + 1] = starts[edge]! + path.length));
  return {
    rects: Float64Array.from([...boxes, bounds].flatMap(({ x, y, width, height }) => [x, y, width, height])),
    starts,
    points: Float64Array.from(edges.flat().flatMap(({ x, y }) => [x, y])),
    labels: Float64Array.from(labels.flatMap((place) => [place?.x ?? NaN, place?.y ?? NaN])),
  };
}

export function unpackLaid({ rects, starts, points, labels }: Packed): LaidOut {
  const pointAt = (from: Float64Array, at: number): Point => ({ x: from[2 * at]!, y: from[2 * at + 1]! });
  const all = Array.from({ length: rects.length / 4 }, (_, i): Rect => ({ x: rects[4 * i]!, y: rects[4 * i + 1]!, width: rects[4 * i + 2]!, height: rects[4 * i + 3]! }));
  const bounds = all.pop()!;
  const edges = Array.from({ length: starts.length - 1 }, (_, edge) => Array.from({ length: starts[edge + 1]! - starts[edge]! }, (_, i) => pointAt(points, starts[edge]! + i)));
  return { boxes: all, bounds, edges, labels: edges.map((_, edge) => (Number.isNaN(labels[2 * edge]) ? undefined : pointAt(labels, edge))) };
}
