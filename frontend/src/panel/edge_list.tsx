// The edges for screen readers and tests, as a plain list (attributes: see tree.tsx).

import type { JSX } from "preact";
import { plainNumber } from "../base/format";
import type { Paints } from "../draw/scene";
import type { VisibleEdge } from "../model/collapse";
import { rowsOf } from "../model/line_rows";
import { scalarOf } from "../model/record";
import { State, summarizeRows } from "../model/values";
import type { Store } from "../state/store";
import { keyOf, type Drawn } from "./drawing";

export function edgeItems(store: Store, drawn: Drawn, paints: Paints): readonly JSX.Element[] {
  const comparing = store.compare.comparison.value !== undefined;
  const backward = store.direction.value === "backward";
  return drawn.visible.edges.map((line, index) => {
    const { source, target, chains } = line;
    const scene = drawn.scene.edges[index]!;
    const label = backward ? paints.edges[index]!.label : scene.shapeLabel;
    const [from, to] = [drawn.scene.boxes[source]!.title, drawn.scene.boxes[target]!.title];
    return (
      <li key={index} data-source={keyOf(drawn, source)} data-target={keyOf(drawn, target)} data-label={label}
        data-grad={gradientOf(store, drawn, line)} data-shape={scene.shapeLabel} data-cut={scene.cut}
        data-mark={scene.markWorld && `${Math.round(scene.markWorld.x)},${Math.round(scene.markWorld.y)}`}
        data-folded={chains.length === 0 ? undefined : chains.map((chain) => drawn.hierarchy.groups[chain]!.title).join(" → ")}>
        {backward ? spoken(from, to, label, comparing, paints.edges[index]!.told) : `${from} to ${to}, ${label}`}
      </li>
    );
  });
}

// What was not read is no gradient of none.
function spoken(from: string, to: string, label: string, comparing: boolean, told: boolean): string {
  if (comparing) return `${to} gives ${from} a gradient, here ÷ there ${label || "none"}`;
  if (label !== "") return `${to} gives ${from} a gradient of ${label}`;
  return told ? `${to} gives ${from} no gradient` : `What gradient ${to} gives ${from} was not recorded`;
}

function gradientOf(store: Store, { hierarchy }: Drawn, line: VisibleEdge): string {
  const values = store.values.value;
  if (values === undefined || store.hierarchy.value !== hierarchy) return "none";
  const rows = rowsOf(hierarchy.graph, line, (row) => values.rows.state[row] !== State.none);
  const scalar = rows.length === 1 ? scalarOf(store.record.value?.whole.get(rows[0]!)?.gradient) : undefined;
  if (scalar !== undefined) return plainNumber(scalar);
  const { value, state } = summarizeRows(values.rows, rows, store.statistic.value);
  return state === State.none ? "none" : plainNumber(value);
}
