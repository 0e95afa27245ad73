// Describes rows and cells of the heat map in words.

import { formatNumber } from "../../../base/format";
import { ratioText } from "../../../draw/compare/ratio_scale";
import { captionOf } from "../../../draw/scene/caption";
import { Relation } from "../../../model/compare/comparison";
import { cellAt, type Flow } from "../../../model/flow/flow";
import { isCompared, relatedAt, type ComparedFlow } from "../../../model/flow/flow_compared";
import { entityOf, type FlowRow } from "../../../model/flow/flow_rows";
import { halfOf, noneWord } from "../../../model/recorded/record";
import type { Hierarchy } from "../../../model/tree/hierarchy";
import { State } from "../../../model/visible/values";

export interface RowTitle {
  readonly title: string;
  readonly subtitle: string;
}

// Rows keep their titles while they are scrolled.
const titles = new WeakMap<FlowRow, RowTitle>();
const fullTitles = new WeakMap<FlowRow, string>();

function known<T>(kept: WeakMap<FlowRow, T>, row: FlowRow, make: () => T): T {
  const found = kept.get(row) ?? make();
  kept.set(row, found);
  return found;
}

export function rowTitle(hierarchy: Hierarchy, row: FlowRow): RowTitle {
  return known(titles, row, () => captionFor(hierarchy, row));
}

function captionFor(hierarchy: Hierarchy, row: FlowRow): RowTitle {
  return captionOf(hierarchy, {
    id: row.id,
    kind: row.kind,
    item: row.node,
    node: row.node,
    group: row.group,
    module: row.module,
    open: row.open,
    parent: -1,
    depth: row.depth,
  });
}

// With the modules around it, so that two rows never have the same name.
export function fullTitle(hierarchy: Hierarchy, row: FlowRow): string {
  return known(fullTitles, row, () => titleWithin(hierarchy, row));
}

function titleWithin(hierarchy: Hierarchy, row: FlowRow): string {
  const { title, subtitle } = rowTitle(hierarchy, row);
  const group = row.module !== -1 ? row.module : row.group;
  const scope = group !== -1 ? hierarchy.groups[group]!.scope : -1;
  const path = scope === -1 ? "" : hierarchy.graph.columns.scopes.path[scope]!;
  const name = row.kind === "node" && row.module === -1 ? hierarchy.graph.columns.nodes.name[row.node]! : path;
  const own = subtitle === "" ? title : `${title} ${subtitle}`;
  return name === "" || name === title ? own : `${name} (${subtitle === "" ? title : subtitle})`;
}

// The same without what it says twice: "up.weight", not "up.weight (weight)".
export function flatTitle(hierarchy: Hierarchy, row: FlowRow): string {
  const full = fullTitle(hierarchy, row);
  const [, name, kind] = /^(.*[./](.*)) \(\2\)$/s.exec(full) ?? [];
  return name === undefined || kind === "" ? full : name;
}

// The number of a cell as it is shown next to the row; "–" if there is none.
export function cellText(flow: Flow, row: FlowRow, column: number): string {
  if (isCompared(flow)) return row.open ? "" : ratioIn(flow, row, column);
  const cell = cellAt(flow, entityOf(flow.hierarchy, row), column);
  if (cell === undefined || row.open) return "";
  if (cell.state === State.none || cell.state === State.unknown) return "–";
  if (cell.state === State.nonfinite) return "NaN / inf";
  return formatNumber(cell.value);
}

// With all seven digits that single precision has.
export function cellSentence(flow: Flow, row: FlowRow, column: number): string {
  const cell = cellAt(flow, entityOf(flow.hierarchy, row), column);
  const { label } = flow.statistic;
  if (cell === undefined) return "not recorded at this stage";
  if (row.open) return "open: see the rows below it";
  if (isCompared(flow)) return comparedSentence(flow, row, column);
  const half = halfOf(flow.stage);
  if (cell.state === State.none) return noneWord(half);
  if (cell.state === State.unknown) return `a ${half}, but no ${label}`;
  const number = exact(cell.value);
  const word = row.kind === "group" ? `${flow.word} ${label}` : label;
  if (cell.state === State.nonfinite)
    return Number.isNaN(cell.value) ? "NaN or inf in all elements" : `NaN or inf; ${word} of the finite elements ${number}`;
  return `${word} ${number}`;
}

function ratioIn(flow: ComparedFlow, row: FlowRow, column: number): string {
  const related = relatedAt(flow, entityOf(flow.hierarchy, row), column);
  return (related && ratioText(related)) ?? "–";
}

// "×2.7: L2 norm 0.5 here, 0.2 there at step 0".
function comparedSentence(flow: ComparedFlow, row: FlowRow, column: number): string {
  const related = relatedAt(flow, entityOf(flow.hierarchy, row), column);
  if (related === undefined || related.relation === Relation.none) return noneWord(halfOf(flow.stage));
  const at = flow.against === undefined ? "" : ` at step ${flow.against}`;
  const number = (value: number, where: string): string => (Number.isNaN(value) ? "" : `${exact(value)} ${where}`);
  const other =
    related.range === undefined
      ? number(related.there, `there${at}`)
      : `${number(related.there, "the median there")}${at}, range ${related.range.map(exact).join(" … ")}`;
  const numbers = [number(related.here, "here"), other].filter((text) => text !== "").join(", ");
  const word = row.kind === "group" ? `${flow.word} ${flow.statistic.label}` : flow.statistic.label;
  return `${ratioText(related)}${numbers === "" ? "" : `: ${word} ${numbers}`}`;
}

function exact(value: number): string {
  return Number.isFinite(value) ? String(Number(value.toPrecision(7))).replace("-", "\u2212") : formatNumber(value);
}
