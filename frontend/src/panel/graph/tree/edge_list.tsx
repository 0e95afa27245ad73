// The edges for screen readers and tests, as a plain list (attributes: see tree.tsx).

import type { JSX } from "preact";
import { plainNumber } from "../../../base/format";
import type { EdgePaint } from "../../../draw/scene/paints";
import { scalarOf } from "../../../model/recorded/record";
import type { VisibleEdge } from "../../../model/visible/collapse";
import { rowsOfHalf } from "../../../model/visible/line_rows";
import { State, summarizeRows } from "../../../model/visible/values";
import type { Store } from "../../../state/store";
import { keyOf, type Drawn } from "../../session/drawing";
import type { Changing } from "./rewrite";

export function edgeItems(drawn: Drawn, isShown: (box: number) => boolean): readonly (JSX.Element | null)[] {
  return drawn.visible.edges.map(({ source, target, chains }, index) => {
    if (!isShown(source)) return null;
    const { shapeLabel, cut, markWorld } = drawn.scene.edges[index]!;
    return (
      <li
        key={index}
        data-at={index}
        data-source={keyOf(drawn, source)}
        data-target={keyOf(drawn, target)}
        data-shape={shapeLabel}
        data-cut={cut}
        data-mark={markWorld && `${Math.round(markWorld.x)},${Math.round(markWorld.y)}`}
        data-folded={chains.length === 0 ? undefined : chains.map((chain) => drawn.hierarchy.groups[chain]!.title).join(" → ")}
      />
    );
  });
}

export const EDGE_CHANGING = ["data-label", "data-grad"];

export function edgeChanging(store: Store, drawn: Drawn, paint: EdgePaint, index: number): Changing {
  const comparing = store.compare.comparison.value !== undefined;
  const backward = store.place.direction.value === "backward";
  const half = store.shown.half.value;
  const line = drawn.visible.edges[index]!;
  const label = backward || half === "value" ? paint.label : drawn.scene.edges[index]!.shapeLabel;
  const [from, to] = [drawn.scene.boxes[line.source]!.title, drawn.scene.boxes[line.target]!.title];
  const text =
    half === "value"
      ? spokenValue(from, to, label, comparing)
      : backward
        ? spoken(from, to, label, comparing, paint.told)
        : `${from} to ${to}, ${label}`;
  return [label, numberOf(store, drawn, line), text];
}

// A gradient that was not read is not a missing gradient.
function spoken(from: string, to: string, label: string, comparing: boolean, told: boolean): string {
  if (comparing) return `${to} gives ${from} a gradient, here ÷ there ${label || "none"}`;
  if (label !== "") return `${to} gives ${from} a gradient of ${label}`;
  return told ? `${to} gives ${from} no gradient` : `The gradient that ${to} gives ${from} was not recorded`;
}

function spokenValue(from: string, to: string, label: string, comparing: boolean): string {
  if (comparing) return `${from} gives ${to} a value, here ÷ there ${label || "none"}`;
  return label === "" ? `The value that ${from} gives ${to} was not read` : `${from} gives ${to} a value of ${label}`;
}

function numberOf(store: Store, { hierarchy }: Drawn, line: VisibleEdge): string {
  const values = store.shown.values.value;
  if (values === undefined || store.recorded.hierarchy.value !== hierarchy) return "none";
  const half = store.shown.half.value;
  const rows = rowsOfHalf(hierarchy.graph, line, half, (row) => values.rows.state[row] !== State.none);
  const scalar = rows.length === 1 ? scalarOf(store.recorded.record.value?.whole.get(rows[0]!)?.[half]) : undefined;
  if (scalar !== undefined) return plainNumber(scalar);
  const { value, state } = summarizeRows(values.rows, rows, store.shown.statistic.value);
  return state === State.none ? "none" : plainNumber(value);
}
