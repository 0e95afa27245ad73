// A layout request, in the form that is sent to the worker: columns by box and by edge.

import type { Size } from "../base/geometry";
import type { VisibleGraph } from "../model/visible/collapse";

export interface LayoutRequest {
  readonly parent: Int32Array; // the box around each, which has a lower number, or -1
  readonly open: Uint8Array;
  readonly depth: Int32Array;
  readonly width: Float64Array; // for an open group, the minimum
  readonly height: Float64Array;
  readonly source: Int32Array;
  readonly target: Int32Array;
  readonly marked: Uint8Array; // 1: a chain is folded into the edge, which has a mark
}

export function requestOf({ boxes, edges }: VisibleGraph, sizes: readonly Size[]): LayoutRequest {
  return {
    parent: Int32Array.from(boxes, ({ parent }) => parent),
    open: Uint8Array.from(boxes, ({ open }) => Number(open)),
    depth: Int32Array.from(boxes, ({ depth }) => depth),
    width: Float64Array.from(sizes, ({ width }) => width),
    height: Float64Array.from(sizes, ({ height }) => height),
    source: Int32Array.from(edges, ({ source }) => source),
    target: Int32Array.from(edges, ({ target }) => target),
    marked: Uint8Array.from(edges, ({ chains }) => Number(chains.length > 0)),
  };
}
