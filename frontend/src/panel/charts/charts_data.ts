// Fetches the lines of the view of charts while it is shown.

import { effect, signal, type ReadonlySignal } from "@preact/signals";
import type { Client } from "../../api/client";
import type { NodeSeries } from "../../api/parse";
import type { Dispose } from "../../base/disposer";
import type { Result } from "../../base/result";
import type { OfRuns } from "../../model/charts/run_parameters";
import type { Quantities } from "../../model/flow/scalar_line";
import type { Graph } from "../../model/recorded/graph";
import type { Half } from "../../model/recorded/record";
import { lengthOf, type Run } from "../../model/recorded/run";
import type { Store } from "../../state/store";
import { nodeOfPin } from "../chart/pin_names";
import { chartedPins } from "./charts_actions";
import type { Charting } from "./charts_state";

type Answers<T> = ReadonlyMap<string, Result<T>>;

export interface FetchedCharts extends Charting {
  readonly series: ReadonlySignal<Answers<NodeSeries>>; // by run, tag, pin and half (seriesKey)
  readonly quantities: ReadonlySignal<Answers<Quantities>>; // by run and tag (tagKey)
  readonly recordedParameters: ReadonlySignal<OfRuns>; // TensorBoard's hyperparameters
  readonly close: Dispose;
}

export function seriesKey(run: string, tag: string, pin: string, half: Half): string {
  return [run, tag, pin, half].join("\n");
}

export function tagKey(run: string, tag: string): string {
  return [run, tag].join("\n");
}

// The shown run and the chosen runs with a graph of the same name, in the order of the list.
export function drawnRuns(charting: Charting): readonly string[] {
  const run = charting.store.place.run.value?.run;
  if (run === undefined || charting.store.place.tag.value === undefined) return [];
  const { runs, everyRun } = charting.chosen;
  const others = otherRuns(charting);
  return [run, ...(everyRun.value ? others : runs.value.filter((one) => others.includes(one)))];
}

// Heat maps are of all runs unless some are chosen.
export function tiledRuns(charting: Charting): readonly string[] {
  const drawn = drawnRuns(charting);
  return drawn.length === 1 ? [...drawn, ...otherRuns(charting)] : drawn;
}

// The runs that can be drawn over the shown one.
export function otherRuns({ store: { place, recorded } }: Charting): readonly string[] {
  const [run, tag] = [place.run.value?.run, place.tag.value?.tag];
  return recorded.runs.value
    .map((one) => one.run)
    .filter((one) => one !== run && tag !== undefined && hasTag(recorded.runs.value, one, tag));
}

export function hasTag(runs: readonly Run[], run: string, tag: string): boolean {
  return runs.some((one) => one.run === run && one.tags.some((other) => other.tag === tag));
}

interface Wanted<T> {
  readonly key: string;
  readonly version: string; // changes when records were added, or recorded again after a restart
  readonly ask: () => Promise<Result<T>>;
}

export function fetchCharts(charting: Charting, client: Client, isShown: ReadonlySignal<boolean>): FetchedCharts {
  const { store } = charting;
  const listed = <T>(list: (run: string, tag: string) => readonly Omit<Wanted<T>, "version">[]): readonly Wanted<T>[] | undefined => {
    const tag = store.place.tag.value?.tag;
    if (!isShown.value || tag === undefined || store.recorded.hierarchy.value === undefined) return undefined;
    return (charting.chosen.inLayers.value ? tiledRuns : drawnRuns)(charting).flatMap((run) => {
      const found = store.recorded.runs.value.find((one) => one.run === run)?.tags.find((one) => one.tag === tag);
      const version = found === undefined ? "" : lengthOf(found);
      return list(run, tag).map((one) => ({ ...one, version }));
    });
  };
  const series = keepAsked(() =>
    listed<NodeSeries>((run, tag) => {
      const half = store.place.half.value;
      if (charting.chosen.inLayers.value) return [];
      return chartedPins(charting).map((pin) => ({
        key: seriesKey(run, tag, pin, half),
        ask: () => ask(store, client, tag, run, pin, half),
      }));
    }),
  );
  const quantities = keepAsked(() => listed<Quantities>((run, tag) => [{ key: tagKey(run, tag), ask: () => client.quantities(run, tag) }]));
  const parameters = fetchParameters(charting, client, isShown);
  return {
    ...charting,
    series: series.answers,
    quantities: quantities.answers,
    recordedParameters: parameters.found,
    close() {
      series.close();
      quantities.close();
      parameters.close();
    },
  };
}

// Asked again when runs were added. A standalone file has none.
function fetchParameters(
  { store }: Charting,
  client: Client,
  isShown: ReadonlySignal<boolean>,
): { readonly found: ReadonlySignal<OfRuns>; readonly close: Dispose } {
  const found = signal<OfRuns>(new Map());
  let asked = "";
  const close = effect(() => {
    const runs = store.recorded.runs.value.map(({ run }) => run).join("\n");
    if (!isShown.value || store.alone || runs === asked) return;
    asked = runs;
    void client.hyperparameters().then((reply) => {
      if (reply.ok) found.value = reply.value;
    });
  });
  return { found, close };
}

// Keeps the answers that are wanted, in the wanted version, and drops all others.
function keepAsked<T>(list: () => readonly Wanted<T>[] | undefined): {
  readonly answers: ReadonlySignal<Answers<T>>;
  readonly close: Dispose;
} {
  const answers = signal<Answers<T>>(new Map());
  let asked: ReadonlyMap<string, string> = new Map();
  const put = ({ key, version }: Wanted<T>, reply: Result<T>): void => {
    if (asked.get(key) !== version) return;
    answers.value = new Map([...answers.peek(), [key, reply] as const].filter(([one]) => asked.has(one)));
  };
  const close = effect(() => {
    const wanted = list();
    if (wanted === undefined) return;
    const before = asked;
    asked = new Map(wanted.map(({ key, version }) => [key, version]));
    for (const one of wanted) if (before.get(one.key) !== one.version) void one.ask().then((reply) => put(one, reply));
  });
  return { answers, close };
}

// In the shown graph, the row is given by its number, as the card does it, so that both share one
// request. In other graphs it is given by its key. A standalone file has no answers by key, so the
// other graphs of the tag are searched.
async function ask(
  { place, recorded, alone }: Store,
  client: Client,
  tag: string,
  run: string,
  pin: string,
  half: Half,
): Promise<Result<NodeSeries>> {
  const shown = recorded.hierarchy.peek()?.graph;
  if (shown !== undefined && run === place.run.peek()?.run && shown.hash === place.hash.peek()) {
    const row = rowOfPin(shown, pin);
    if (row !== undefined) return client.node(run, tag, shown.hash, row, half);
  }
  for (const hash of alone ? (place.tag.peek()?.hashes ?? []) : []) {
    const graph = await client.graph(run, hash);
    const found = graph.ok ? rowOfPin(graph.value, pin) : undefined;
    if (found !== undefined) return client.node(run, tag, hash, found, half);
  }
  return client.nodeOfKey(run, tag, pin, half);
}

function rowOfPin({ columns, slotOffset }: Graph, pin: string): number | undefined {
  const { key, slot } = nodeOfPin(pin);
  const node = columns.nodes.key.indexOf(key);
  return node !== -1 && slot < columns.nodes.slot_count[node]! ? slotOffset[node]! + slot : undefined;
}
