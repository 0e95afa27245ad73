// Shows what a link says.

import { batch } from "@preact/signals";
import { DEFAULT_RAMP, rampNamed } from "../../draw/style/ramp_names";
import { goToStep, moveSteps, reveal } from "../../state/actions";
import { parseAddress, readValues, type Address } from "../../state/address";
import { applyPlace, awaitRun, tellStale } from "../../state/awaited";
import { applyVersus } from "../../state/compare";
import { takeLinked } from "../../state/findings_state";
import { setStatistic, type Store } from "../../state/store";
import { readLinked } from "../../state/story";
import { kept } from "../controls/kept";
import type { Views } from "./views";

export function applyLook(store: Store, address: Address): void {
  batch(() => {
    store.look.ramp.value = rampNamed(address.colors) ?? rampNamed(kept("colors")) ?? DEFAULT_RAMP;
    store.live.follow.value = address.follow ?? false;
    store.place.allSessions.value = address.sessions ?? false;
    if (address.stat !== undefined) setStatistic(store, address.stat);
    if (address.dir !== undefined) store.place.direction.value = address.dir;
    applyVersus(store.compare, address.vs);
  });
}

export function takeMarks(store: Store, { marks }: Address): void {
  if (marks !== undefined) store.story.linked.value = readLinked(marks);
}

// `hash`: with our keys. The runs are known.
export function followLink(store: Store, views: Views, hash: string): void {
  const before = store.place.tag.peek();
  const address = parseAddress(hash);
  const { step, pass, sel } = address;
  batch(() => {
    views.readLink(address.view, readValues(hash));
    applyLook(store, address);
    takeMarks(store, address);
  });
  if (awaitRun(store, address)) return;
  applyPlace(store, address);
  takeLinked(store.findings, address.purpose ?? []);
  if (store.live.follow.peek()) moveSteps(store, Infinity);
  else if (step !== undefined) {
    goToStep(store, step, pass);
    tellStale(store, step);
  } else if (store.place.tag.peek() !== before) moveSteps(store, Infinity);
  // If the graph is still loading, it reveals the selection when it arrives.
  if (sel !== undefined && store.recorded.hierarchy.peek()?.graph.hash === store.place.hash.peek()) reveal(store, sel);
}
