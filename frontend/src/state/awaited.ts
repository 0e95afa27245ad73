// Handles links to a run that TensorBoard has not read yet. Another run is shown until it is read.

import { batch } from "@preact/signals";
import { BACKWARD, lastRecord, nearestRecord, type RecordRef } from "../model/recorded/run";
import { leaveGraph } from "./actions";
import type { Address } from "./address";
import type { Store } from "./store";

export function applyPlace(store: Store, address: Address): void {
  batch(() => {
    store.place.awaited.value = undefined;
    if (address.run !== undefined) store.place.runName.value = address.run;
    if (address.tag !== undefined) store.place.tagName.value = address.tag;
    if (address.open !== undefined) store.graph.open.value = new Set(address.open);
    store.graph.turned.value = new Set(address.turned);
    store.place.stage.value = address.stage ?? BACKWARD;
    store.shown.selected.value = address.sel;
  });
}

// Returns whether there is something to wait for. If the user goes elsewhere in the meantime, nothing more happens.
export function awaitRun(store: Store, address: Address | undefined): boolean {
  const shown = store.place.run.peek();
  const missing = address?.run !== undefined && !store.recorded.runs.peek().some(({ run }) => run === address.run);
  if (!missing || shown === undefined || store.alone) return false;
  batch(() => {
    store.place.awaited.value = address;
    // If nothing is recorded yet, the first run that arrives is shown.
    store.place.runName.value = shown.tags.length > 0 ? shown.run : undefined;
    store.place.tagName.value = store.place.tag.value?.tag;
    // It is searched when its run has arrived.
    if (store.recorded.hierarchy.peek() === undefined) store.shown.selected.value = undefined;
  });
  return true;
}

// Goes to the awaited run, if it has arrived.
export function arrive(store: Store): boolean {
  const address = store.place.awaited.peek();
  if (address === undefined || !store.recorded.runs.peek().some(({ run, tags }) => run === address.run && tags.length > 0)) return false;
  batch(() => {
    leaveGraph(store);
    applyPlace(store, address);
    const records = store.place.tag.value?.records ?? [];
    store.place.recordIndex.value = store.live.follow.peek()
      ? lastRecord(records, store.place.stage.peek())
      : firstShown(records, address, store.place.stage.peek());
    if (!store.live.follow.peek()) tellStale(store, address.step);
    store.graph.refits.value++;
  });
  return true;
}

// What to say if a link names a step that is not recorded: the nearest one is shown.
export function tellStale(store: Store, wanted: number | undefined): void {
  const shown = store.place.ref.peek()?.step;
  if (wanted === undefined || shown === undefined || shown === wanted) return;
  store.shown.notice.value = `Step ${wanted} of the link is not recorded here; the nearest one, step ${shown}, is shown.`;
}

// The last record, or the one that a link requested.
export function firstShown(records: readonly RecordRef[], wanted: Address | undefined, stage: string): number {
  if (wanted?.step !== undefined) return nearestRecord(records, wanted.step, wanted.pass ?? 0, stage);
  const ofHash = records.findLastIndex((record) => record.hash === wanted?.hash && record.stage === stage);
  return ofHash !== -1 ? ofHash : lastRecord(records, stage);
}
