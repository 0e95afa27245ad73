// A layout request, in the form that is sent to the worker: columns by box and by edge, without rows.

import type { Size } from "../../base/geometry";
import { CLOSE_BESIDE } from "./laid_out";
import { withoutRows, type WithRows } from "./placed_rows";

export interface LayoutRequest {
  readonly parent: Int32Array; // the box around each, which has a lower number, or -1
  readonly open: Uint8Array;
  readonly depth: Int32Array;
  readonly width: Float64Array; // for an open group, the minimum
  readonly height: Float64Array;
  readonly source: Int32Array;
  readonly target: Int32Array;
  readonly marked: Uint8Array; // 1: a chain is folded into the edge, which has a mark
  readonly tallest: number; // a level that is higher is broken into columns; 0: the data runs down in one column
}

// `sizes` of all boxes; those of rows are not used.
export function requestOf(visible: WithRows, sizes: readonly Size[], tallest: number): LayoutRequest {
  const apart = withoutRows(visible);
  const boxes = apart.boxes.map((box) => visible.boxes[box]!);
  const edges = apart.edges.map((edge) => visible.edges[edge]!);
  const inside = new Map<number, number>();
  for (const { parent } of boxes) inside.set(parent, (inside.get(parent) ?? 0) + 1);
  // Alone in a group, a box is as wide as the group's title wants it.
  const widthOf = (box: number): number => {
    const { parent, open } = visible.boxes[box]!;
    const alone = parent !== -1 && !open && inside.get(parent) === 1;
    return Math.max(sizes[box]!.width, alone ? sizes[parent]!.width - 2 * CLOSE_BESIDE : 0);
  };
  const place = (box: number): number => (box === -1 ? -1 : apart.placeOf[box]!);
  return {
    parent: Int32Array.from(boxes, ({ parent }) => place(parent)),
    open: Uint8Array.from(boxes, ({ open }) => Number(open)),
    depth: Int32Array.from(boxes, ({ depth }) => depth),
    width: Float64Array.from(apart.boxes, (box) => widthOf(box)),
    height: Float64Array.from(apart.boxes, (box) => sizes[box]!.height),
    source: Int32Array.from(edges, ({ source }) => place(source)),
    target: Int32Array.from(edges, ({ target }) => place(target)),
    marked: Uint8Array.from(edges, ({ chains }) => Number(chains.length > 0)),
    tallest,
  };
}
