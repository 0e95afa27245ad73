// The statistics that can be drawn, and how each is computed, summarized and compared.

import { MEASURES, NONFINITE, type Measure, type WhatKept } from "../../base/vocabulary";

export interface Statistic {
  readonly id: string;
  readonly label: string;
  // The columns of the answer that are summed to give it; usually the column of the same name.
  readonly columns: readonly string[];
  // log: by magnitude on a logarithmic scale; unit: linear from 0 to 1.
  readonly scale: "log" | "unit";
  // How a group or a node of several tensors is summarized.
  readonly summary: "greatest" | "sum";
  // Negative numbers occur. On a logarithmic axis only magnitudes can be drawn.
  readonly signed: boolean;
  readonly ofValues: boolean; // gradients do not have it
  readonly meaning: string;
}

// These two come first, then the others in the order of their columns.
const FIRST: readonly string[] = ["l2_norm", "abs_max"];

const drawn = MEASURES.filter(({ name, isDrawn }) => isDrawn && !FIRST.includes(name)).map(statistic);
const counts = drawn.findIndex(({ id }) => NONFINITE.includes(id));

export const STATISTICS: readonly Statistic[] = [
  ...FIRST.map((id) => statistic(measureOf(id)!)),
  ...drawn.slice(0, counts),
  { ...drawn[counts]!, id: "nonfinite", label: "NaN + inf", columns: NONFINITE, meaning: "Elements that are NaN or infinite" },
  ...drawn.slice(counts),
];

function statistic({ name, label, meaning, unit, isSigned, ofValues }: Measure): Statistic {
  const signed = isSigned === true;
  return {
    id: name,
    label,
    columns: [name],
    scale: unit === "share" ? "unit" : "log",
    summary: unit === "count" ? "sum" : "greatest",
    signed,
    ofValues: ofValues === true,
    meaning: signed ? `${meaning}, colored by magnitude` : meaning,
  };
}

// In a tensor of one element it equals that element, up to its sign.
export function isElementItself({ id }: Statistic): boolean {
  return measureOf(id)?.isElement === true;
}

export function measureOf(column: string): Measure | undefined {
  return MEASURES.find(({ name }) => name === column);
}

export const DEFAULT_STATISTIC = STATISTICS[0]!;

export function statisticOf(id: string): Statistic | undefined {
  return STATISTICS.find((statistic) => statistic.id === id);
}

const others = new Map<string, Statistic>();

// The statistics that can be drawn of gradients or of values. `columns` are those of a record: it may have some that are
// not listed here.
export function statisticsFor(half: WhatKept, columns: readonly string[]): readonly Statistic[] {
  const listed = STATISTICS.filter(({ ofValues }) => half === "value" || !ofValues);
  return [...listed, ...columns.filter((name) => measureOf(name) === undefined).map(otherStatistic)];
}

// Nothing is known about it but its name.
function otherStatistic(name: string): Statistic {
  const known = others.get(name) ?? { ...statistic({ name, label: name, meaning: name, unit: "ratio", isSigned: true }), ofValues: false };
  others.set(name, known);
  return known;
}

// Least and greatest of some numbers.
export type Domain = readonly [number, number];

// The range of a statistic over all records of a tag, ignoring signs and zeros.
export interface Magnitudes {
  readonly domain: Domain;
  readonly fences: Domain; // numbers beyond these are outliers
}

export function around(domains: readonly Domain[]): Domain {
  return [Math.min(...domains.map(([low]) => low)), Math.max(...domains.map(([, high]) => high))];
}
