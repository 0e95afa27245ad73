// The user's actions while a training runs: follow its latest step, or stay at the shown one.

import { batch, effect } from "@preact/signals";
import type { Dispose } from "../base/disposer";
import { moveSteps } from "./actions";
import type { Store } from "./store";

export function setFollow(store: Store, follow: boolean): void {
  batch(() => {
    store.live.follow.value = follow;
    if (follow) moveSteps(store, Infinity);
  });
}

// Going to another step ends following. After a change of run or graph, the new one is followed.
export function keepFollowing(store: Store): Dispose {
  let place = "";
  return effect(() => {
    const [run, tag, ref] = [store.place.run.value?.run, store.place.tag.value, store.place.ref.value];
    const now = `${run}\n${tag?.tag}`;
    const moved = now !== place;
    place = now;
    const atLast = ref === undefined || ref.step === tag?.records.at(-1)?.step;
    if (atLast || moved) store.live.unseen.value = 0;
    if (atLast || !store.live.follow.value) return;
    if (moved) moveSteps(store, Infinity);
    else store.live.follow.value = false;
  });
}
