// The table of a part of the heat map: one row for each of its rows, with their numbers over its steps.

import type { CsvCell } from "../../base/csv";
import type { Flow } from "./flow";
import { isCompared } from "./flow_compared";
import { entityOf, type FlowRow } from "./flow_rows";
import type { Span } from "./flow_window";
import { isLogarithmic, summarizeRow, type RowSummary } from "./row_numbers";

export const AREA_SORTS = ["place", "median", "slope", "bad"] as const;
export type AreaSort = (typeof AREA_SORTS)[number];

export interface AreaOrder {
  readonly by: AreaSort;
  readonly descending: boolean;
}

export const BY_PLACE: AreaOrder = { by: "place", descending: false };

export interface AreaRow extends RowSummary {
  readonly row: FlowRow;
  readonly place: number; // among the rows of the map
}

// Open groups are headings, so they are left out.
export function areaRows(flow: Flow, rows: readonly FlowRow[], [from, to]: Span, columns: Span): readonly AreaRow[] {
  return rows.slice(from, to).flatMap((row, i) => {
    if (row.open) return [];
    return { row, place: from + i, ...summarizeRow(flow, entityOf(flow.hierarchy, row), columns) };
  });
}

// What has no number comes last in both directions.
export function sortArea(rows: readonly AreaRow[], { by, descending }: AreaOrder): readonly AreaRow[] {
  const keyOf = ({ place, median, slope, firstBad = NaN }: AreaRow): number => ({ place, median, slope, bad: firstBad })[by];
  return [...rows].sort((one, other) => {
    const [a, b] = [keyOf(one), keyOf(other)];
    if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b)) || one.place - other.place;
    return (descending ? b - a : a - b) || one.place - other.place;
  });
}

// Numbers as they are; an empty cell where there is none.
export function areaCsv(flow: Flow, rows: readonly AreaRow[], nameOf: (row: FlowRow) => string): readonly (readonly CsvCell[])[] {
  const median = isCompared(flow) ? "median ratio" : `median ${flow.statistic.label}`;
  const slope = isLogarithmic(flow) ? "slope of log10 per step" : "slope per step";
  const number = (value: number): CsvCell => (Number.isNaN(value) ? null : value);
  return [
    ["layer", "key", median, slope, "first step with NaN or infinity"],
    ...rows.map(({ row, median: middle, slope: steep, firstBad }) => [
      nameOf(row),
      row.id,
      number(middle),
      number(steep),
      firstBad ?? null,
    ]),
  ];
}
