// Fetches the lines that are drawn over each other, while they are looked at.

import { effect, signal, type Signal } from "@preact/signals";
import type { Client } from "../api/client";
import type { NodeSeries } from "../api/parse";
import type { Dispose } from "../base/disposer";
import type { Result } from "../base/result";
import type { Run } from "../model/run";
import type { Store } from "../state/store";

export interface Charting {
  // By run, tag and pin (seriesKey).
  readonly series: Signal<ReadonlyMap<string, Result<NodeSeries>>>;
  readonly close: Dispose;
}

export function seriesKey(run: string, tag: string, pin: string): string {
  return [run, tag, pin].join("\n");
}

// The shown run and those over it that have the same graph, in the order in which they were chosen.
export function drawnRuns(store: Store): readonly string[] {
  const [run, tag] = [store.run.value?.run, store.tag.value?.tag];
  if (run === undefined || tag === undefined) return [];
  const others = store.charts.runs.value.filter((one) => one !== run && hasTag(store.runs.value, one, tag));
  return [run, ...others];
}

export function hasTag(runs: readonly Run[], run: string, tag: string): boolean {
  return runs.some((one) => one.run === run && one.tags.some((other) => other.tag === tag));
}

export function createCharting(store: Store, client: Client): Charting {
  const series = signal<ReadonlyMap<string, Result<NodeSeries>>>(new Map());
  // Asked again when the runs were read again; until then what is known stays. What is no longer drawn is dropped.
  let [asked, of] = [new Set<string>(), store.runs.peek()];
  const put = (key: string, reply: Result<NodeSeries>): void => {
    series.value = new Map([...series.peek(), [key, reply] as const].filter(([one]) => asked.has(one)));
  };
  const close = effect(() => {
    const [runs, tag] = [store.runs.value, store.tag.value?.tag];
    if (runs !== of) [asked, of] = [new Set(), runs];
    if (store.view.value !== "charts" || tag === undefined) return;
    const wanted = drawnRuns(store).flatMap((run) => store.charts.pins.value.map((pin) => ({ run, pin, key: seriesKey(run, tag, pin) })));
    const before = asked;
    asked = new Set(wanted.map(({ key }) => key));
    for (const { run, pin, key } of wanted) {
      if (!before.has(key)) void client.nodeOfKey(run, tag, pin).then((reply) => put(key, reply));
    }
  });
  return { series, close };
}
