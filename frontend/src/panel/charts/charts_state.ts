// The tensors and runs in the view of charts, and how they are drawn.

import { signal, type Signal } from "@preact/signals";
import type { Hierarchy } from "../../model/tree/hierarchy";
import { listed, type LinkEntry } from "../../state/address";
import type { Store } from "../../state/store";
import type { Range, Zoom } from "../chart/chart_props";

export interface ChartsState {
  readonly pins: Signal<readonly string[]>; // keys of rows: "<key of the node>:<output>"
  readonly quantities: Signal<readonly string[]>; // names of numbers of the step
  readonly runs: Signal<readonly string[]>; // besides the shown one
  readonly everyRun: Signal<boolean>; // all runs with such a graph, later ones too
  readonly grouped: Signal<boolean>; // the runs over the shown one are their median and range
  readonly inLayers: Signal<boolean>; // heat maps of layers beside each other, and no lines
  readonly sortBy: Signal<string | undefined>; // the number of the step that orders them; undefined: the loss
  readonly colorBy: Signal<string | undefined>; // see line_looks; undefined: by what there is
  readonly of: Signal<string | undefined>; // a stage, or a statistic of parameters; undefined: the shown stage
  readonly log: Signal<boolean | undefined>; // undefined: the default of the statistic
  readonly smoothing: Signal<number>; // 0: off
  readonly outliers: Signal<boolean>; // the axis also covers lines far away from all others
  readonly zoom: Signal<Zoom>;
  readonly emptied: Signal<boolean>; // by the user: nothing is drawn instead
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
  readonly everyRun: boolean;
  readonly grouped: boolean;
  readonly inLayers: boolean;
  readonly sortBy: string | undefined;
  readonly colorBy: string | undefined;
  readonly of: string | undefined;
  readonly log: boolean | undefined;
  readonly smoothing: number;
  readonly outliers: boolean;
  readonly zoom: Zoom;
}

export const MOST_PINS = 20;

export function createCharts(): ChartsState {
  return {
    pins: signal<readonly string[]>([]),
    quantities: signal<readonly string[]>([]),
    runs: signal<readonly string[]>([]),
    everyRun: signal(false),
    grouped: signal(false),
    inLayers: signal(false),
    sortBy: signal<string | undefined>(undefined),
    colorBy: signal<string | undefined>(undefined),
    of: signal<string | undefined>(undefined),
    log: signal<boolean | undefined>(undefined),
    smoothing: signal(0),
    outliers: signal(false),
    zoom: signal<Zoom>({}),
    emptied: signal(false),
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

export function applyCharted(charts: ChartsState, charted: Charted): void {
  const { pins, quantities, runs } = charted;
  if (charts.pins.peek().join("\n") !== pins.join("\n")) charts.pins.value = pins.slice(0, MOST_PINS);
  if (charts.quantities.peek().join("\n") !== quantities.join("\n")) charts.quantities.value = quantities.slice(0, MOST_PINS);
  if (charts.runs.peek().join("\n") !== runs.join("\n")) charts.runs.value = runs;
  charts.everyRun.value = charted.everyRun;
  charts.grouped.value = charted.grouped;
  charts.inLayers.value = charted.inLayers;
  charts.sortBy.value = charted.sortBy;
  charts.colorBy.value = charted.colorBy;
  charts.of.value = charted.of;
  charts.log.value = charted.log;
  charts.smoothing.value = charted.smoothing;
  charts.outliers.value = charted.outliers;
  if (zoomText(charts.zoom.peek().x) !== zoomText(charted.zoom.x) || zoomText(charts.zoom.peek().y) !== zoomText(charted.zoom.y))
    charts.zoom.value = charted.zoom;
}

export function chartedOf({ emptied: _, ...charts }: ChartsState): Charted {
  return {
    pins: charts.pins.value,
    quantities: charts.quantities.value,
    runs: charts.runs.value,
    everyRun: charts.everyRun.value,
    grouped: charts.grouped.value,
    inLayers: charts.inLayers.value,
    sortBy: charts.sortBy.value,
    colorBy: charts.colorBy.value,
    of: charts.of.value,
    log: charts.log.value,
    smoothing: charts.smoothing.value,
    outliers: charts.outliers.value,
    zoom: charts.zoom.value,
  };
}

export function readCharted(values: ReadonlyMap<string, string>): Charted {
  const list = (name: string): readonly string[] => (values.get(name) ?? "").split("\n").filter((one) => one !== "");
  const log = values.get("chart.log");
  const smoothing = Number(values.get("chart.smooth"));
  const [x, y] = [rangeIn(values.get("chart.x")), rangeIn(values.get("chart.y"))];
  return {
    pins: list("chart.pins"),
    quantities: list("chart.step"),
    runs: list("chart.runs"),
    everyRun: values.get("chart.every") === "1",
    grouped: values.get("chart.group") === "1",
    inLayers: values.get("chart.as") === "layers",
    sortBy: values.get("chart.sort"),
    colorBy: values.get("chart.color"),
    of: values.get("chart.of"),
    log: log === undefined ? undefined : log === "1",
    smoothing: smoothing > 0 && smoothing < 1 ? smoothing : 0,
    outliers: values.get("chart.outliers") === "1",
    zoom: { ...(x && { x }), ...(y && { y }) },
  };
}

export function chartedEntries(charted: Charted): readonly LinkEntry[] {
  const { log, smoothing } = charted;
  return [
    ["chart.pins", listed(charted.pins)],
    ["chart.step", listed(charted.quantities)],
    ["chart.runs", charted.everyRun ? undefined : listed(charted.runs)],
    ["chart.every", charted.everyRun ? 1 : undefined],
    ["chart.group", charted.grouped ? 1 : undefined],
    ["chart.as", charted.inLayers ? "layers" : undefined],
    ["chart.sort", charted.sortBy],
    ["chart.color", charted.colorBy],
    ["chart.of", charted.of],
    ["chart.log", log === undefined ? undefined : Number(log)],
    ["chart.smooth", smoothing === 0 ? undefined : smoothing],
    ["chart.outliers", charted.outliers ? 1 : undefined],
    ["chart.x", zoomText(charted.zoom.x)],
    ["chart.y", zoomText(charted.zoom.y)],
  ];
}

function zoomText(range: Range | undefined): string | undefined {
  return range?.map((end) => Number(end.toPrecision(6))).join(" ");
}

function rangeIn(text: string | undefined): Range | undefined {
  const [low = NaN, high = NaN, ...others] = (text ?? "").split(" ").map(Number);
  return others.length === 0 && Number.isFinite(low) && Number.isFinite(high) && low < high ? [low, high] : undefined;
}
