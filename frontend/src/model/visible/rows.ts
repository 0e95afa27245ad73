// Decides what is a row in another box instead of a box of its own: a tensor in the box of the operation that uses it,
// and a norm or activation in the box before it.

import { isCut } from "../recorded/gradient_flow";
import type { Graph } from "../recorded/graph";
import type { Hierarchy } from "../tree/hierarchy";
import { isLayer, isLayerOfParts, isPartOfLayer } from "../tree/layer_parts";

interface Placed {
  readonly node: number; // -1 for groups
  readonly group: number; // -1 for nodes
  readonly open: boolean;
  readonly parent: number;
}

interface Joined {
  readonly source: number;
  readonly target: number;
  readonly edges: readonly number[];
  readonly chains: readonly number[];
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

// A longer row of them begins a box of its own again.
const MOST_FOLLOWING = 4;

// Adds to `holder` the norms, activations and dropouts that only follow the box before them: it has no other
// line out, and they have no other line in.
export function foldFollowing(hierarchy: Hierarchy, boxes: readonly Placed[], edges: readonly Joined[], holder: Int32Array): Int32Array {
  const [linesOut, lineIn] = [new Int32Array(boxes.length), new Int32Array(boxes.length).fill(NONE)];
  edges.forEach(({ source, target }, line) => {
    linesOut[source]!++;
    lineIn[target] = lineIn[target] === NONE ? line : SEVERAL;
  });
  const inside = new Int32Array(boxes.length);
  boxes.forEach(({ parent }, box) => parent !== -1 && holder[box] === NONE && inside[parent]!++);
  const folded = holder.slice();
  const following = new Int32Array(boxes.length);
  boxes.forEach((box, at) => {
    const line = edges[lineIn[at]!];
    if (line === undefined || box.open || !canFollow(hierarchy, box)) return;
    const { source, chains, edges: own } = line;
    const host = folded[source] === NONE ? source : folded[source]!;
    if (source > at || linesOut[source] !== 1 || chains.length > 0 || own.some((edge) => isCut(hierarchy.graph, edge))) return;
    if (!canHold(hierarchy, boxes[host]!) || following[host]! >= MOST_FOLLOWING) return;
    const { parent } = boxes[host]!;
    // The frame of a layer with one operation counts as this operation.
    const beside = parent === box.parent || (parent !== -1 && boxes[parent]!.parent === box.parent && inside[parent] === 1);
    if (!beside) return;
    folded[at] = host;
    following[host]!++;
  });
  return folded;
}

function canFollow(hierarchy: Hierarchy, { node, group }: Placed): boolean {
  if (node === -1) return isLayerOfParts(hierarchy, group);
  return isPartOfLayer(hierarchy.graph, node) && hierarchy.graph.columns.nodes.order[node]! <= 1 && !isScalar(hierarchy.graph, node);
}

function canHold(hierarchy: Hierarchy, { node, group, open }: Placed): boolean {
  if (node === -1) return !open && isLayer(hierarchy, group);
  return hierarchy.graph.columns.nodes.kind[node] === "operation";
}

// Of a single number, each operation is worth a box, as in a drawing of a formula.
function isScalar({ slotOffset, columns }: Graph, node: number): boolean {
  return columns.slots.shape[slotOffset[node]!]?.every((size) => size === 1) === true;
}
