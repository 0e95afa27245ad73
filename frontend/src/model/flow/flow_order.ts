// The order of the rows: as the forward ran, or by their numbers.

import type { Flow } from "./flow";
import { entityOf, type FlowRow } from "./flow_rows";
import { firstBelow, isBadAt, numberAt, summarizeRow } from "./row_numbers";

export const SORTS = ["depth", "value", "slope", "below"] as const;
export type SortBy = (typeof SORTS)[number];

export interface RowOrder {
  readonly by: SortBy;
  readonly descending: boolean;
  readonly below: number; // the limit of "below"
}

export const FORWARD_ORDER: RowOrder = { by: "depth", descending: false, below: 1e-6 };

export function isInTree({ by, descending }: RowOrder): boolean {
  return by === "depth" && !descending;
}

// In any other order than that of the forward, the rows are no tree: open groups have no row, and
// all others stand side by side. `column`: of the shown step; -1: it has none.
export function orderRows(rows: readonly FlowRow[], flow: Flow, order: RowOrder, column: number): readonly FlowRow[] {
  if (isInTree(order)) return rows;
  const flat = rows.filter(({ open }) => !open).map((row): FlowRow => ({ ...row, depth: 0, isFlat: true }));
  if (order.by === "depth") return flat.reverse();
  const keys = flat.map((row) => keyOf(flow, entityOf(flow.hierarchy, row), order, column));
  const sign = order.descending ? -1 : 1;
  const places = [...flat.keys()].sort((a, b) => compare(keys[a]!, keys[b]!, sign) || a - b);
  return places.map((at) => flat[at]!);
}

// NaN: nothing to sort by.
function keyOf(flow: Flow, entity: number, { by, below }: RowOrder, column: number): number {
  const all = [0, flow.steps.length] as const;
  if (by === "slope") return summarizeRow(flow, entity, all).slope;
  if (by === "below") return firstBelow(flow, entity, below, all) ?? NaN;
  if (column === -1) return NaN;
  return isBadAt(flow, entity, column) ? Infinity : Math.abs(numberAt(flow, entity, column));
}

// What has no number comes last in both directions.
function compare(a: number, b: number, sign: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return a === b ? 0 : sign * (a < b ? -1 : 1);
}
