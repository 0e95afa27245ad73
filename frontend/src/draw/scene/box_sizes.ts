// How large each box is drawn.

import { formatCount } from "../../base/format";
import type { Size } from "../../base/geometry";
import { WHOLE_LIMIT } from "../../base/vocabulary";
import { heightWithRows, ROW_HEIGHT, widthAround } from "../../layout/places/placed_rows";
import type { Graph } from "../../model/recorded/graph";
import { shapeTextOf } from "../../model/recorded/labels";
import type { Hierarchy } from "../../model/tree/hierarchy";
import type { Box, VisibleGraph } from "../../model/visible/collapse";
import { stripOf } from "../../model/visible/strip";
import { DETAIL_FONT, TITLE_FONT, widthOf } from "../style/text";
import { captionOf, ROW_ENDS, ROW_GAP, ROW_SIGN, rowCaption, rowTextWidth, SHEETS } from "./caption";
import { STRIP_HEIGHT, wantedWidth } from "./paint_strip";

const WIDEST = 340;

// Sizes depend only on the structure, so that a step never moves a box.
export function sizesOf(hierarchy: Hierarchy, { boxes, holder }: Pick<VisibleGraph, "boxes" | "holder">): readonly Size[] {
  const sizes = boxes.map((box, at) => (holder[at] === -1 ? sizeOf(hierarchy, box) : rowSize(hierarchy, box)));
  const rows = new Map<number, number[]>();
  holder.forEach((by, box) => by !== -1 && (rows.get(by) ?? rows.set(by, []).get(by)!).push(box));
  for (const [by, held] of rows) {
    const width = Math.max(sizes[by]!.width, ...held.map((box) => widthAround(sizes[box]!.width)));
    sizes[by] = { width, height: heightWithRows(held.length) + (boxes[by]!.kind === "group" ? SHEETS : 0) };
  }
  return sizes;
}

// The longest number that a row may have.
const ROW_NUMBER = "−1.234e−12";

function rowSize(hierarchy: Hierarchy, box: Box): Size {
  const isGroup = box.kind === "group";
  const shape = isGroup ? "" : shapeTextOf(hierarchy.graph, hierarchy.graph.slotOffset[box.node]!);
  const number = isGroup ? widthOf(`max ${ROW_NUMBER}`, DETAIL_FONT) + ROW_SIGN : widthOf(ROW_NUMBER, DETAIL_FONT);
  const text = rowTextWidth(rowCaption(hierarchy, box)) + Math.max(number, widthOf(shape, DETAIL_FONT));
  return { width: clamp(text + ROW_GAP + ROW_ENDS, 104, WIDEST), height: ROW_HEIGHT };
}

function sizeOf(hierarchy: Hierarchy, box: Box): Size {
  const { title, subtitle } = captionOf(hierarchy, box);
  const text = widthOf(title, TITLE_FONT) + (subtitle ? widthOf(subtitle, DETAIL_FONT) + 8 : 0);
  if (box.kind === "group") {
    // The longest detail that any step may have.
    const detail = widthOf(`${formatCount(hierarchy.nodesInside[box.group]!)} nodes · max −1.23e−12`, DETAIL_FONT);
    if (box.open) return { width: Math.min(420, Math.ceil(text + widthOf("max −1.23e−12", DETAIL_FONT)) + 76), height: 60 };
    const strip = stripOf(hierarchy, box.group);
    const least = Math.max(text + 34, detail + 20);
    if (strip === undefined) return { width: clamp(least, 128, WIDEST), height: 46 + SHEETS };
    return { width: clamp(Math.max(least, wantedWidth(strip)), 128, WIDEST), height: 46 + STRIP_HEIGHT + SHEETS };
  }
  const { kind } = hierarchy.graph.columns.nodes;
  if (kind[box.node] === "constant") return { width: clamp(text + 24, 104, 240), height: 34 };
  const slant = kind[box.node] === "operation" ? 24 : 38;
  const shape = widthOf(shapeTextOf(hierarchy.graph, hierarchy.graph.slotOffset[box.node]!), DETAIL_FONT) + slant;
  const least = Math.min(WIDEST, Math.max(shape, leastWidth(hierarchy.graph, box.node)));
  return { width: clamp(text + slant, least, WIDEST), height: kind[box.node] === "root" ? 50 : 42 };
}

function clamp(value: number, low: number, high: number): number {
  return Math.ceil(Math.max(low, Math.min(high, value)));
}

// Tensors that may be kept whole need room for value and gradient.
function leastWidth(graph: Graph, node: number): number {
  if (node >= graph.ownNodes) return 128; // "only there" and the number
  const shape = graph.columns.slots.shape[graph.slotOffset[node]!] ?? [];
  const elements = shape.reduce((product, size) => product * size, 1);
  if (graph.columns.nodes.slot_count[node] !== 1 || elements > WHOLE_LIMIT) return 88;
  return elements === 1 ? 152 : 192;
}
