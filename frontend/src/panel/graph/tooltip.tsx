// Describes what is under the pointer.

import type { JSX } from "preact";
import { shortenPaths } from "../../base/format";
import type { Size } from "../../base/geometry";
import { ratioText } from "../../draw/compare/ratio_scale";
import { valueText } from "../../draw/scene/caption";
import type { EdgePaint } from "../../draw/scene/paints";
import type { SceneEdge } from "../../draw/scene/scene";
import { relateCells } from "../../model/compare/comparison";
import { whyNone } from "../../model/recorded/gradient_flow";
import { hasShape, shapeTextOf } from "../../model/recorded/labels";
import { halfWord, noneWord } from "../../model/recorded/record";
import { titleOf } from "../../model/recorded/titles";
import { chainAround } from "../../model/tree/hierarchy";
import { blockAt, cellValues, type Strip } from "../../model/visible/strip";
import { State } from "../../model/visible/values";
import type { Store } from "../../state/store";
import type { Drawing, Drawn } from "../session/drawing";
import type { Pointed } from "./pointing";

const WIDTH_PX = 260;

// If there is less room than this below the pointer, the tooltip is above it.
const ROOM_PX = 150;

export function Tooltip({
  store,
  drawing,
  pointed,
  stagePx,
}: {
  readonly store: Store;
  readonly drawing: Drawing;
  readonly pointed: Pointed;
  readonly stagePx: Size;
}): JSX.Element | null {
  const lines = pointed.edge === -1 ? boxLines(store, drawing, pointed) : edgeLines(store, drawing, pointed);
  if (lines === undefined) return null;
  const { x, y } = pointed.pointScreen;
  const left = x + 16 + WIDTH_PX > stagePx.width ? x - 12 - WIDTH_PX : x + 16;
  const beside = y + ROOM_PX > stagePx.height ? { bottom: `${stagePx.height - y + 10}px` } : { top: `${y + 14}px` };
  return (
    <div class="tooltip" role="tooltip" style={{ left: `${Math.max(4, left)}px`, ...beside, maxWidth: `${WIDTH_PX}px` }}>
      {lines.map((line, i) => (
        <div key={i} class={i === 0 ? "tooltip-title" : ""}>
          {line}
        </div>
      ))}
    </div>
  );
}

function boxLines(store: Store, drawing: Drawing, { box: index, block }: Pointed): readonly string[] | undefined {
  const drawn = drawing.drawn.value;
  const box = drawn?.visible.boxes[index];
  const paint = drawing.paints.value?.boxes[index];
  if (drawn === undefined || box === undefined || paint === undefined || box.open) return undefined;
  const { title, subtitle, strip } = drawn.scene.boxes[index]!;
  if (strip !== undefined && block !== undefined) return blockLines(store, drawn, strip, block);
  if (box.node === -1) return [`${title} ${subtitle}`, paint.detail, ...groupWords(store), "A double click opens it."];
  const { graph } = drawn.hierarchy;
  if (box.node >= graph.ownNodes) return [titleOf(graph, box.node), paint.detail];
  const { nodes, slots } = graph.columns;
  const row = graph.slotOffset[box.node]!;
  const facts = [nodes.operation[box.node], shapeTextOf(graph, row), hasShape(graph, row) ? slots.dtype[row] : ""];
  return [
    titleOf(graph, box.node),
    facts.filter((fact) => fact !== undefined && fact !== "").join(" · "),
    [nodes.is_leaf[box.node] ? "leaf" : "non-leaf", slots.retains_grad[row] ? "retains grad" : ""]
      .filter((mark) => mark !== "")
      .join(" · "),
    paint.detail,
    numberWords(store, nodes.kind[box.node], paint.state),
    shortenPaths(nodes.note[box.node] ?? ""),
    whyNone(graph, box.node, row, store.recorded.record.value) ?? "",
    chainAround(drawn.hierarchy, box.node) === undefined ? "" : "A double click folds it into its line.",
  ].filter((line) => line !== "");
}

// Forward, what the number on the box is. The toolbar says the same of gradients.
function numberWords({ shown, compare }: Store, kind: string | undefined, state: State): string {
  const told = shown.half.value === "value" && compare.comparison.value === undefined && state !== State.none;
  return told ? `${shown.statistic.value.label} of the ${halfWord("value", kind)}` : "";
}

// A cell of the strip: its block, and the greatest number in it.
function blockLines(store: Store, { hierarchy }: Drawn, strip: Strip, block: number): readonly string[] {
  const { title } = blockAt(hierarchy, strip, block);
  const values = store.shown.values.value;
  const one = { ...strip, count: 1, children: strip.children.slice(block * strip.period, (block + 1) * strip.period) };
  const cell = values && cellValues(hierarchy, one, 1, values, store.shown.statistic.value);
  const number = cell && valueText(cell.value[0]!, cell.state[0]! as State);
  const comparison = store.compare.comparison.value;
  const ratio = comparison && ratioText(relateCells(hierarchy, comparison, one, 1)[0]!);
  return [
    title,
    `${block + 1} of ${strip.count}`,
    ...(ratio === undefined ? [] : [`here ÷ there ${ratio}`]),
    number === undefined ? noneWord(store.shown.half.value) : `${values?.groupWord} ${number}`,
    "A double click opens the row there.",
  ];
}

function groupWords(store: Store): readonly string[] {
  const { summary, label, signed } = store.shown.statistic.value;
  if (store.shown.values.value === undefined) return [];
  return [
    summary === "sum"
      ? `sum: of the ${label} inside`
      : signed
        ? `up to: the ${label} farthest from 0 inside`
        : `max: the greatest ${label}${store.shown.half.value === "value" ? " of a value" : ""} inside`,
  ];
}

function edgeLines(store: Store, drawing: Drawing, { edge: index, mark }: Pointed): readonly string[] | undefined {
  const drawn = drawing.drawn.value;
  const edge = drawn?.scene.edges[index];
  const paint = drawing.paints.value?.edges[index];
  if (drawn === undefined || edge === undefined || paint === undefined) return undefined;
  const [from, to] = [drawn.scene.boxes[edge.source]!.title, drawn.scene.boxes[edge.target]!.title];
  const comparing = store.compare.comparison.value !== undefined;
  const chains = edge.chains.map((chain) => drawn.hierarchy.groups[chain]!.title);
  const folded = chains.length === 0 ? [] : [`Folded into this line: ${chains.join(", ")}`];
  if (mark) return [...folded, "A click opens it."];
  return [
    store.place.direction.value === "backward" ? `${to} → ${from}` : `${from} → ${to}`,
    edge.shapeLabel,
    comparing && paint.label !== "" ? `here ÷ there ${paint.label}` : flowWords(store, drawn, edge, paint),
    ...folded,
  ];
}

// What flows along a line, forward or back.
function flowWords({ shown, compare }: Store, { hierarchy, visible }: Drawn, edge: SceneEdge, paint: EdgePaint): string {
  const ofValues = shown.half.value === "value";
  if (paint.label !== "") {
    const { node } = visible.boxes[edge.source]!;
    const word = halfWord(shown.half.value, hierarchy.graph.columns.nodes.kind[node]);
    return ofValues ? `${shown.statistic.value.label} of the ${word} ${paint.label}` : `gradient ${paint.label}`;
  }
  if (edge.cut && !ofValues) return "cut: the gradient stops here";
  if (compare.comparison.value !== undefined) return "nothing to compare";
  if (ofValues) return "value not read";
  return paint.told ? "no gradient" : "gradient not recorded";
}
