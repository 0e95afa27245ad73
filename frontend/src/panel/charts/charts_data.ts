// Fetches the lines of the view of charts while it is shown.

import { effect, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Client } from "../../api/client";
import type { NodeSeries } from "../../api/parse";
import type { Dispose } from "../../base/disposer";
import type { Result } from "../../base/result";
import type { Graph } from "../../model/recorded/graph";
import type { Run } from "../../model/recorded/run";
import type { Store } from "../../state/store";
import { nodeOfPin } from "../chart/pin_names";
import { chartedPins } from "./charts_actions";
import type { Charting } from "./charts_state";

export interface FetchedCharts extends Charting {
  // By run, tag and pin (seriesKey).
  readonly series: Signal<ReadonlyMap<string, Result<NodeSeries>>>;
  readonly close: Dispose;
}

export function seriesKey(run: string, tag: string, pin: string): string {
  return [run, tag, pin].join("\n");
}

// The shown run and the chosen runs with the same graph, in the order in which they were chosen.
export function drawnRuns({ store, chosen }: Charting): readonly string[] {
  const [run, tag] = [store.place.run.value?.run, store.place.tag.value?.tag];
  if (run === undefined || tag === undefined) return [];
  const others = chosen.runs.value.filter((one) => one !== run && hasTag(store.recorded.runs.value, one, tag));
  return [run, ...others];
}

export function hasTag(runs: readonly Run[], run: string, tag: string): boolean {
  return runs.some((one) => one.run === run && one.tags.some((other) => other.tag === tag));
}

interface Wanted {
  readonly run: string;
  readonly pin: string;
  readonly key: string;
  readonly version: string; // changes when records were added, or recorded again after a restart
}

export function fetchCharts(charting: Charting, client: Client, isShown: ReadonlySignal<boolean>): FetchedCharts {
  const { store } = charting;
  const series = signal<ReadonlyMap<string, Result<NodeSeries>>>(new Map());
  // Keeps the lines that are drawn, in the requested version, and drops all others.
  let asked: ReadonlyMap<string, string> = new Map();
  const put = ({ key, version }: Wanted, reply: Result<NodeSeries>): void => {
    if (asked.get(key) !== version) return;
    series.value = new Map([...series.peek(), [key, reply] as const].filter(([one]) => asked.has(one)));
  };
  const close = effect(() => {
    const tag = store.place.tag.value?.tag;
    if (!isShown.value || tag === undefined || store.recorded.hierarchy.value === undefined) return;
    const wanted = listWanted(charting, tag);
    const before = asked;
    asked = new Map(wanted.map(({ key, version }) => [key, version]));
    for (const one of wanted) {
      if (before.get(one.key) !== one.version) void ask(store, client, tag, one).then((reply) => put(one, reply));
    }
  });
  return { ...charting, series, close };
}

function listWanted(charting: Charting, tag: string): readonly Wanted[] {
  const runs = charting.store.recorded.runs.value;
  return drawnRuns(charting).flatMap((run) => {
    const records = runs.find((one) => one.run === run)?.tags.find((one) => one.tag === tag)?.records ?? [];
    const version = `${records.length} ${records.at(-1)?.wallTime}`;
    return chartedPins(charting).map((pin) => ({ run, pin, key: seriesKey(run, tag, pin), version }));
  });
}

// In the shown graph, the row is given by its number, as the card does it, so that both share one
// request. In other graphs it is given by its key. A standalone file has no answers by key, so the
// other graphs of the tag are searched.
async function ask({ place, recorded, alone }: Store, client: Client, tag: string, { run, pin }: Wanted): Promise<Result<NodeSeries>> {
  const shown = recorded.hierarchy.peek()?.graph;
  if (shown !== undefined && run === place.run.peek()?.run && shown.hash === place.hash.peek()) {
    const row = rowOfPin(shown, pin);
    if (row !== undefined) return client.node(run, tag, shown.hash, row);
  }
  for (const hash of alone ? (place.tag.peek()?.hashes ?? []) : []) {
    const graph = await client.graph(run, hash);
    const found = graph.ok ? rowOfPin(graph.value, pin) : undefined;
    if (found !== undefined) return client.node(run, tag, hash, found);
  }
  return client.nodeOfKey(run, tag, pin);
}

function rowOfPin({ columns, slotOffset }: Graph, pin: string): number | undefined {
  const { key, slot } = nodeOfPin(pin);
  const node = columns.nodes.key.indexOf(key);
  return node !== -1 && slot < columns.nodes.slot_count[node]! ? slotOffset[node]! + slot : undefined;
}
