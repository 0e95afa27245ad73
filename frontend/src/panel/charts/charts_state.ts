// The tensors and runs in the view of charts, and how they are drawn.

import { signal, type Signal } from "@preact/signals";
import type { Hierarchy } from "../../model/tree/hierarchy";
import { listed, type LinkEntry } from "../../state/address";
import type { Store } from "../../state/store";

export interface ChartsState {
  readonly pins: Signal<readonly string[]>; // keys of rows: "<key of the node>:<output>"
  readonly quantities: Signal<readonly string[]>; // names of numbers of the step
  readonly runs: Signal<readonly string[]>; // besides the shown one
  readonly of: Signal<string | undefined>; // a stage, or a statistic of parameters; undefined: the shown stage
  readonly log: Signal<boolean | undefined>; // undefined: the default of the statistic
  readonly smoothing: Signal<number>; // 0: off
}

// The options, and the chosen one.
export interface Charting {
  readonly store: Store;
  readonly chosen: ChartsState;
}

// The choice in the form of a link.
export interface Charted {
  readonly pins: readonly string[];
  readonly quantities: readonly string[];
  readonly runs: readonly string[];
  readonly of: string | undefined;
  readonly log: boolean | undefined;
  readonly smoothing: number;
}

export const MOST_PINS = 20;
export const MOST_RUNS = 8;

export function createCharts(): ChartsState {
  return {
    pins: signal<readonly string[]>([]),
    quantities: signal<readonly string[]>([]),
    runs: signal<readonly string[]>([]),
    of: signal<string | undefined>(undefined),
    log: signal<boolean | undefined>(undefined),
    smoothing: signal(0),
  };
}

// A node's first output; for a module, its parameters.
export function pinsOf({ graph, groupOf, groups, itemGroup }: Hierarchy, id: string): readonly string[] {
  const { key, kind } = graph.columns.nodes;
  const group = groupOf.get(id);
  if (group === undefined) return key.includes(id) ? [`${id}:0`] : [];
  const inside = (at: number): boolean => at !== -1 && (at === group || inside(groups[at]!.parent));
  return key.flatMap((one, node) => (kind[node] === "parameter" && inside(itemGroup[node]!) ? [`${one}:0`] : []));
}

export function applyCharted(charts: ChartsState, { pins, quantities, runs, of, log, smoothing }: Charted): void {
  if (charts.pins.peek().join("\n") !== pins.join("\n")) charts.pins.value = pins.slice(0, MOST_PINS);
  if (charts.quantities.peek().join("\n") !== quantities.join("\n")) charts.quantities.value = quantities.slice(0, MOST_PINS);
  if (charts.runs.peek().join("\n") !== runs.join("\n")) charts.runs.value = runs.slice(0, MOST_RUNS);
  charts.of.value = of;
  charts.log.value = log;
  charts.smoothing.value = smoothing;
}

export function chartedOf({ pins, quantities, runs, of, log, smoothing }: ChartsState): Charted {
  return { pins: pins.value, quantities: quantities.value, runs: runs.value, of: of.value, log: log.value, smoothing: smoothing.value };
}

export function readCharted(values: ReadonlyMap<string, string>): Charted {
  const list = (name: string): readonly string[] => (values.get(name) ?? "").split("\n").filter((one) => one !== "");
  const log = values.get("chart.log");
  const smoothing = Number(values.get("chart.smooth"));
  return {
    pins: list("chart.pins"),
    quantities: list("chart.step"),
    runs: list("chart.runs"),
    of: values.get("chart.of"),
    log: log === undefined ? undefined : log === "1",
    smoothing: smoothing > 0 && smoothing < 1 ? smoothing : 0,
  };
}

export function chartedEntries({ pins, quantities, runs, of, log, smoothing }: Charted): readonly LinkEntry[] {
  return [
    ["chart.pins", listed(pins)],
    ["chart.step", listed(quantities)],
    ["chart.runs", listed(runs)],
    ["chart.of", of],
    ["chart.log", log === undefined ? undefined : Number(log)],
    ["chart.smooth", smoothing === 0 ? undefined : smoothing],
  ];
}
