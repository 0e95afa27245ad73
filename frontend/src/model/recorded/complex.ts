// Complex gradients: mean, deviation, least and greatest are those of the magnitudes, and are labeled so.

import type { Graph } from "./graph";
import { measureOf, type Statistic } from "./statistics";

const counted = new WeakMap<Graph, "all" | "some" | "none">();

export function isComplex(graph: Graph, row: number): boolean {
  return graph.columns.slots.dtype[row]?.startsWith("complex") === true;
}

function isOfMagnitudes(id: string): boolean {
  return measureOf(id)?.ofMagnitudes === true;
}

export function labelOf(id: string, label: string, complex: boolean): string {
  return complex && isOfMagnitudes(id) ? `${label} |g|` : label;
}

// A statistic as it applies to one tensor.
export function spoken(statistic: Statistic, complex: boolean): Statistic {
  if (!complex || !isOfMagnitudes(statistic.id)) return statistic;
  return {
    ...statistic,
    label: labelOf(statistic.id, statistic.label, true),
    signed: false,
    meaning: `${statistic.meaning}; for a complex tensor, of the magnitudes`,
  };
}

// The same for a whole graph, in which some tensors may be complex.
export function spokenIn(statistic: Statistic, graph: Graph | undefined): Statistic {
  const share = graph === undefined ? "none" : shareOf(graph);
  if (share === "none" || !isOfMagnitudes(statistic.id)) return statistic;
  const label = share === "all" ? labelOf(statistic.id, statistic.label, true) : `${statistic.label} (complex: |g|)`;
  return { ...spoken(statistic, true), label, signed: share === "all" ? false : statistic.signed };
}

function shareOf(graph: Graph): "all" | "some" | "none" {
  const known = counted.get(graph);
  if (known !== undefined) return known;
  const { dtype, requires_grad: taken } = graph.columns.slots;
  const rows = dtype.map((_, row) => row).filter((row) => taken[row] === true);
  const complex = rows.filter((row) => isComplex(graph, row)).length;
  const share = complex === 0 ? "none" : complex === rows.length ? "all" : "some";
  counted.set(graph, share);
  return share;
}
