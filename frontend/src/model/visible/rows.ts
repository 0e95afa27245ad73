// Decides which tensors are rows in the box of the operation that uses them, instead of boxes of their own.

import { isCut } from "../recorded/gradient_flow";
import type { Hierarchy } from "../tree/hierarchy";

interface Placed {
  readonly node: number; // -1 for groups
  readonly parent: number;
}

interface Joined {
  readonly source: number;
  readonly target: number;
  readonly edges: readonly number[];
}

// With more of them, a box would be a list. Then each has a box of its own.
export const MOST_ROWS = 8;

// A leaf or an input is where somebody begins to read, so it keeps its box.
const KINDS: ReadonlySet<string> = new Set(["parameter", "buffer", "constant"]);

// For each box, the box in which it is a row; -1: none. A row has only lines to that box, which is
// an operation at the same level. A chain may be folded into the line.
export function holdersOf({ graph }: Hierarchy, boxes: readonly Placed[], edges: readonly Joined[]): Int32Array {
  const { kind } = graph.columns.nodes;
  const user = new Int32Array(boxes.length).fill(NONE);
  const fed = new Uint8Array(boxes.length);
  for (const { source, target, edges: own } of edges) {
    if (own.some((edge) => isCut(graph, edge)))
      user[source] = SEVERAL; // the cut is seen on its line
    else user[source] = user[source] === NONE || user[source] === target ? target : SEVERAL;
    fed[target] = 1;
  }
  const holder = user.map((by, box) => {
    const { node, parent } = boxes[box]!;
    const other = boxes[by];
    if (node === -1 || fed[box] === 1 || other === undefined || !KINDS.has(kind[node]!)) return NONE;
    return other.node !== -1 && kind[other.node] === "operation" && other.parent === parent ? by : NONE;
  });
  const rows = new Int32Array(boxes.length);
  for (const by of holder) if (by !== NONE) rows[by]!++;
  return holder.map((by) => (by !== NONE && rows[by]! <= MOST_ROWS ? by : NONE));
}

const NONE = -1;
const SEVERAL = -2;
