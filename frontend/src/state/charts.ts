// Which tensors and runs are drawn over each other, and how.

import { signal, type Signal } from "@preact/signals";
import type { Hierarchy } from "../model/tree/hierarchy";
import type { Charted } from "./address";

export interface ChartsState {
  readonly pins: Signal<readonly string[]>; // keys of rows: "<key of the node>:<output>"
  readonly runs: Signal<readonly string[]>; // besides the shown one
  readonly of: Signal<string | undefined>; // a stage or a number of parameters; undefined: the stage that is shown
  readonly log: Signal<boolean | undefined>; // undefined: as the statistic begins
  readonly smoothing: Signal<number>; // 0: off
}

export const MOST_PINS = 20;
export const MOST_RUNS = 8;

export function createCharts(): ChartsState {
  return {
    pins: signal<readonly string[]>([]),
    runs: signal<readonly string[]>([]),
    of: signal<string | undefined>(undefined),
    log: signal<boolean | undefined>(undefined),
    smoothing: signal(0),
  };
}

// A node's first output; of a module, its parameters.
export function pinsOf({ graph, groupOf, groups, itemGroup }: Hierarchy, id: string): readonly string[] {
  const { key, kind } = graph.columns.nodes;
  const group = groupOf.get(id);
  if (group === undefined) return key.includes(id) ? [`${id}:0`] : [];
  const inside = (at: number): boolean => at !== -1 && (at === group || inside(groups[at]!.parent));
  return key.flatMap((one, node) => (kind[node] === "parameter" && inside(itemGroup[node]!) ? [`${one}:0`] : []));
}

// The node and the output that a pin is of.
export function nodeOfPin(pin: string): { readonly key: string; readonly slot: number } {
  const at = pin.lastIndexOf(":");
  return { key: pin.slice(0, at), slot: Number(pin.slice(at + 1)) };
}

export function applyCharted(charts: ChartsState, { pins, runs, of, log, smoothing }: Charted): void {
  if (charts.pins.peek().join("\n") !== pins.join("\n")) charts.pins.value = pins.slice(0, MOST_PINS);
  if (charts.runs.peek().join("\n") !== runs.join("\n")) charts.runs.value = runs.slice(0, MOST_RUNS);
  charts.of.value = of;
  charts.log.value = log;
  charts.smoothing.value = smoothing;
}

export function chartedOf({ pins, runs, of, log, smoothing }: ChartsState): Charted {
  return { pins: pins.value, runs: runs.value, of: of.value, log: log.value, smoothing: smoothing.value };
}
