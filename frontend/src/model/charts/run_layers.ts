// The heat maps of several runs, reduced to one row for each layer and aligned with each other.

import type { Flow } from "../flow/flow";
import { entityOf, everyGroup, listRows, type FlowRow } from "../flow/flow_rows";
import type { Magnitudes } from "../recorded/statistics";
import { State, type Values } from "../visible/values";
import { fullRange, robustRange, type RangedLine } from "./robust_range";

// One run; `value` and `state` are [layers, steps].
export interface LayerFlow extends Values {
  readonly ids: readonly string[];
  readonly steps: readonly number[];
  readonly every: number; // only every n-th recorded step is a column
}

// Layers are the innermost modules around parameters, in forward order. Without any, all modules or nodes on top are.
export function layersOf(flow: Flow): LayerFlow {
  const rows = listRows(flow.hierarchy, everyGroup(flow.hierarchy), flow.shown);
  const layers = aroundParameters(flow, rows);
  const chosen = layers.length > 0 ? layers : rows.filter(({ depth }) => depth === 0);
  const columns = flow.steps.length;
  const value = new Float32Array(chosen.length * columns);
  const state = new Uint8Array(chosen.length * columns);
  chosen.forEach((row, i) => {
    const at = entityOf(flow.hierarchy, row) * columns;
    for (let column = 0; column < columns; column++) {
      value[i * columns + column] = flow.value[at + column]!;
      state[i * columns + column] = flow.state[at + column]!;
    }
  });
  return { ids: chosen.map(({ id }) => id), steps: flow.steps, every: flow.every, value, state };
}

function aroundParameters({ hierarchy: { graph } }: Flow, rows: readonly FlowRow[]): readonly FlowRow[] {
  const around: FlowRow[] = [];
  const found = new Set<FlowRow>();
  for (const row of rows) {
    around.length = row.depth;
    const outer = around.at(-1);
    if (row.kind === "node" && graph.columns.nodes.kind[row.node] === "parameter") found.add(outer ?? row);
    around[row.depth] = row;
  }
  return rows.filter((row) => found.has(row));
}

// The layers of all runs in one order; what only some have stands where they have it.
export function alignedLayers(lists: readonly (readonly string[])[]): readonly string[] {
  const all: string[] = [];
  for (const list of lists) {
    let at = 0;
    for (const id of list) {
      const known = all.indexOf(id);
      if (known !== -1) at = known + 1;
      else all.splice(at++, 0, id);
    }
  }
  return all;
}

const MOST_SAMPLED = 20_000; // of a run

// The range of the numbers of all runs together. A run far beyond the middle one does not stretch the scale.
export function magnitudesOfAll(flows: readonly LayerFlow[]): Magnitudes | undefined {
  const sizes = flows.map(({ value, state }, run) => ({
    id: String(run),
    entry: "",
    values: Array.from(value, (one, at) => (state[at] === State.number ? Math.abs(one) : null)),
  }));
  const full = fullRange(sizes, true);
  const robust = robustRange(sizes.map(withoutEnds), true) ?? full;
  return full && robust && { domain: [full.low, full.high], fences: [robust.low, robust.high] };
}

const BEYOND = 0.01; // this share of the numbers of a run at each end does not stretch the scale either

function withoutEnds({ values, ...run }: RangedLine): RangedLine {
  const stride = Math.max(1, Math.ceil(values.length / MOST_SAMPLED));
  const sorted = values.filter((value, at): value is number => value !== null && value > 0 && at % stride === 0).sort((a, b) => a - b);
  const end = Math.floor(BEYOND * sorted.length);
  return { ...run, values: sorted.slice(end, sorted.length - end) };
}

// By the last value: the smallest first, then NaN and infinity, then runs without it. Equal ones keep their order.
export function sortedByLast(runs: readonly string[], lastOf: (run: string) => number | undefined): readonly string[] {
  const rank = (run: string): number => {
    const value = lastOf(run);
    return value === undefined ? 2 : Number.isFinite(value) ? 0 : 1;
  };
  return [...runs].sort((a, b) => rank(a) - rank(b) || (rank(a) === 0 ? lastOf(a)! - lastOf(b)! : 0));
}
