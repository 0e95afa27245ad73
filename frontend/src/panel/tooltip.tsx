// What lies under the pointer, in words.

import type { JSX } from "preact";
import { formatShape, shortenPaths } from "../base/format";
import { whyNone } from "../model/gradient_flow";
import { titleOf } from "./neighbors";
import type { Drawing } from "./drawing";
import type { Pointed } from "./graph_canvas";
import type { Store } from "../state/store";

const WIDTH_PX = 260;

export function Tooltip({ store, drawing, pointed, widthPx }: {
  readonly store: Store;
  readonly drawing: Drawing;
  readonly pointed: Pointed;
  readonly widthPx: number;
}): JSX.Element | null {
  const lines = pointed.edge === -1 ? boxLines(store, drawing, pointed.box) : edgeLines(store, drawing, pointed.edge);
  if (lines === undefined) return null;
  const { x, y } = pointed.pointScreen;
  const left = x + 16 + WIDTH_PX > widthPx ? x - 12 - WIDTH_PX : x + 16;
  return (
    <div class="tooltip" role="tooltip" style={{ left: `${Math.max(4, left)}px`, top: `${y + 14}px`, maxWidth: `${WIDTH_PX}px` }}>
      {lines.map((line, i) => <div key={i} class={i === 0 ? "tooltip-title" : ""}>{line}</div>)}
    </div>
  );
}

function boxLines(store: Store, drawing: Drawing, index: number): readonly string[] | undefined {
  const drawn = drawing.drawn.value;
  const box = drawn?.visible.boxes[index];
  const paint = drawing.paints.value?.boxes[index];
  if (drawn === undefined || box === undefined || paint === undefined || box.open) return undefined;
  const { title, subtitle } = drawn.scene.boxes[index]!;
  if (box.node === -1) return [`${title} ${subtitle}`, paint.detail, "Double click opens it."];
  const { graph } = drawn.hierarchy;
  const { nodes, slots } = graph.columns;
  const row = graph.slotOffset[box.node]!;
  const facts = [nodes.operation[box.node], slots.shape[row] && formatShape(slots.shape[row]!), slots.dtype[row]];
  return [
    titleOf(graph, box.node),
    facts.filter((fact) => fact !== undefined && fact !== "").join(" · "),
    [nodes.is_leaf[box.node] ? "leaf" : "non-leaf", slots.retains_grad[row] ? "retains grad" : ""].filter((mark) => mark !== "").join(" · "),
    paint.detail,
    shortenPaths(nodes.note[box.node] ?? ""),
    whyNone(graph, box.node, row, store.record.value) ?? "",
  ].filter((line) => line !== "");
}

function edgeLines(store: Store, drawing: Drawing, index: number): readonly string[] | undefined {
  const drawn = drawing.drawn.value;
  const edge = drawn?.scene.edges[index];
  const paint = drawing.paints.value?.edges[index];
  if (drawn === undefined || edge === undefined || paint === undefined) return undefined;
  const [from, to] = [drawn.scene.boxes[edge.source]!.title, drawn.scene.boxes[edge.target]!.title];
  const comparing = store.compare.comparison.value !== undefined;
  return [
    store.direction.value === "backward" ? `${to} → ${from}` : `${from} → ${to}`,
    edge.shapeLabel,
    paint.label === "" ? (edge.cut ? "cut: the gradient stops here" : comparing ? "nothing to compare" : "no gradient") : `${comparing ? "here ÷ there" : "gradient"} ${paint.label}`,
  ];
}
