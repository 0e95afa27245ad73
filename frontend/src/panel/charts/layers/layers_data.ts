// Fetches the heat maps of several runs, one after another's graph; runs with equal graphs share it.

import { effect, signal, untracked, type ReadonlySignal } from "@preact/signals";
import type { Client } from "../../../api/client";
import { readFlow } from "../../../api/read_flow";
import type { Dispose } from "../../../base/disposer";
import { success, type Result } from "../../../base/result";
import { FORWARD } from "../../../base/vocabulary";
import { layersOf, type LayerFlow } from "../../../model/charts/run_layers";
import { computeFlow } from "../../../model/flow/flow";
import { distinctSteps, isOfPass, lengthOf, type Tag } from "../../../model/recorded/run";
import type { Statistic } from "../../../model/recorded/statistics";
import { buildHierarchy, type Hierarchy } from "../../../model/tree/hierarchy";
import type { Store } from "../../../state/store";

const TOGETHER_MS = 60;
const MOST_COLUMNS = 600; // of a run; from more recorded steps every n-th is fetched

export type Tiles = ReadonlyMap<string, Result<LayerFlow>>; // by run

export interface LayersData {
  readonly tiles: ReadonlySignal<Tiles>;
  readonly close: Dispose;
}

export function fetchLayers(store: Store, client: Client, runs: ReadonlySignal<readonly string[]>): LayersData {
  const tiles = signal<Tiles>(new Map());
  const hierarchies = new Map<string, Promise<Result<Hierarchy>>>();
  let asked: ReadonlyMap<string, string> = new Map();
  const hierarchyOf = (run: string, hash: string): Promise<Result<Hierarchy>> => {
    const known =
      hierarchies.get(hash) ?? client.graph(run, hash).then((reply) => (reply.ok ? success(buildHierarchy(reply.value)) : reply));
    hierarchies.set(hash, known);
    void known.then(({ ok }) => ok || hierarchies.delete(hash));
    return known;
  };
  // Answers that arrive close to each other are drawn together, because each may change the colors of all.
  const arrived: [run: string, key: string, reply: Result<LayerFlow>][] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const put = (...one: (typeof arrived)[number]): void => {
    arrived.push(one);
    timer ??= setTimeout(() => {
      timer = undefined;
      const kept = arrived.splice(0).filter(([run, key]) => asked.get(run) === key);
      tiles.value = new Map([...tiles.peek(), ...kept.map(([run, , reply]) => [run, reply] as const)]);
    }, TOGETHER_MS);
  };
  const stop = effect(() => {
    const [tag, statistic, half, stage] = [
      store.place.tag.value?.tag,
      store.shown.statistic.value,
      store.place.half.value,
      store.place.ref.value?.stage,
    ];
    if (tag === undefined || stage === undefined) return;
    const wanted = new Map<string, Tag>();
    for (const run of runs.value) {
      const found = store.recorded.runs.value.find((one) => one.run === run)?.tags.find((one) => one.tag === tag);
      if (found !== undefined) wanted.set(run, found);
    }
    const of = half === "value" ? FORWARD : stage;
    const keys = new Map([...wanted].map(([run, found]) => [run, [tag, statistic.id, of, lengthOf(found)].join("\n")] as const));
    const before = asked;
    asked = keys;
    untracked(() => {
      tiles.value = new Map([...tiles.peek()].filter(([run]) => before.get(run) === keys.get(run)));
      for (const [run, key] of keys) {
        if (before.get(run) === key) continue;
        void read(client, hierarchyOf, run, wanted.get(run)!, statistic, of).then((reply) => put(run, key, reply));
      }
    });
  });
  return {
    tiles,
    close() {
      stop();
      clearTimeout(timer);
    },
  };
}

// The latest maps, so that they are there at once when they are shown again.
const known = new WeakMap<Client, Map<string, LayerFlow>>();
const MOST_KNOWN = 48;

async function read(
  client: Client,
  hierarchyOf: (run: string, hash: string) => Promise<Result<Hierarchy>>,
  run: string,
  { tag, records }: Tag,
  statistic: Statistic,
  stage: string,
): Promise<Result<LayerFlow>> {
  const found = records.findLast((record) => (stage === FORWARD ? record.hasValues : record.stage === stage)) ?? records.at(-1)!;
  const hierarchy = await hierarchyOf(run, found.hash);
  if (!hierarchy.ok) return hierarchy;
  const every = Math.max(1, Math.ceil(distinctSteps(records).length / MOST_COLUMNS));
  const query = { run, tag, hash: found.hash, stage, backwardPass: isOfPass(stage) ? found.backwardPass : 0, every };
  const kept = known.get(client) ?? new Map<string, LayerFlow>();
  known.set(client, kept);
  const key = JSON.stringify([query, statistic.id, records.length, records.at(-1)?.wallTime]);
  const before = kept.get(key);
  if (before !== undefined) return success(before);
  const numbers = await readFlow(client, { ...query, columns: statistic.columns });
  if (!numbers.ok) return numbers;
  const layers = layersOf(computeFlow(hierarchy.value, numbers.value, statistic, stage, every));
  kept.set(key, layers);
  for (const oldest of kept.keys()) if (kept.size > MOST_KNOWN) kept.delete(oldest);
  return success(layers);
}
