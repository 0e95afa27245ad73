// Rows in boxes: the layout places only the boxes that hold them, and the rows follow from these.

import type { Point, Rect } from "../../base/geometry";
import { isInside, type VisibleGraph } from "../../model/visible/collapse";
import type { LaidOut } from "./laid_out";

export const ROW_HEIGHT = 20;
const ROW_GAP = 3;
const MARGIN = 6;
// The part of a box above its rows.
export const HEAD_HEIGHT = 40;

export function heightWithRows(rows: number): number {
  return HEAD_HEIGHT + rows * (ROW_HEIGHT + ROW_GAP) - ROW_GAP + MARGIN;
}

export function widthAround(row: number): number {
  return row + 2 * MARGIN;
}

export type WithRows = Pick<VisibleGraph, "boxes" | "edges" | "holder">;

// The boxes and lines that are laid out, by their numbers, and where each of all boxes is among them.
export interface Apart {
  readonly boxes: readonly number[];
  readonly edges: readonly number[];
  readonly placeOf: Int32Array; // of a row, the place of the box that holds it
}

export function withoutRows({ boxes, edges, holder }: WithRows): Apart {
  const placeOf = new Int32Array(boxes.length).fill(-1);
  const kept = boxes.flatMap((_, box) => (holder[box] === -1 ? [box] : []));
  kept.forEach((box, place) => (placeOf[box] = place));
  holder.forEach((by, box) => by !== -1 && (placeOf[box] = placeOf[by]!));
  return { boxes: kept, edges: edges.flatMap((line, edge) => (isInside({ holder }, line) ? [] : [edge])), placeOf };
}

// Completes a layout of the boxes without rows. The line of a row is short and inside its box. Its
// label is where the mark of a folded chain is drawn.
export function addRows({ boxes, edges, holder }: WithRows, laid: LaidOut): LaidOut {
  const apart = withoutRows({ boxes, edges, holder });
  const count = new Int32Array(boxes.length);
  const rects = boxes.map((_, box): Rect => {
    const by = holder[box]!;
    if (by === -1) return laid.boxes[apart.placeOf[box]!]!;
    const { x, y, width } = laid.boxes[apart.placeOf[by]!]!;
    const row = count[by]!++;
    return { x: x + MARGIN, y: y + HEAD_HEIGHT + row * (ROW_HEIGHT + ROW_GAP), width: width - 2 * MARGIN, height: ROW_HEIGHT };
  });
  const placeOfEdge = new Map(apart.edges.map((edge, place) => [edge, place]));
  const paths = edges.map(({ source }, edge) => {
    const place = placeOfEdge.get(edge);
    return place === undefined ? insideOf(rects[source]!) : laid.edges[place]!;
  });
  const labels = edges.map(({ source, chains }, edge): Point | undefined => {
    const place = placeOfEdge.get(edge);
    if (place !== undefined) return laid.labels[place];
    const { x, y, width, height } = rects[source]!;
    return chains.length === 0 ? undefined : { x: x + width - height / 2 - 1, y: y + height / 2 };
  });
  return { boxes: rects, edges: paths, labels, bounds: laid.bounds };
}

function insideOf({ x, y, width, height }: Rect): readonly Point[] {
  return [
    { x: x + width / 2, y: y + height / 2 },
    { x: x + width / 2, y },
  ];
}
