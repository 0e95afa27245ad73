// The other heat map while two are compared: fetched, or where it is a step of the same one, that itself.

import type { Signal } from "@preact/signals";
import type { Client } from "../../api/client";
import { computeFlow, type Flow } from "../../model/flow/flow";
import { compareFlows, type ComparedFlow } from "../../model/flow/flow_compared";
import { BACKWARD, lengthOf } from "../../model/recorded/run";
import type { Store } from "../../state/store";
import { readNew } from "./flow_numbers";

export function comparedOf({ compare }: Store, own: Flow | undefined, theirs: Flow | undefined): ComparedFlow | undefined {
  const [choice, place, joined, hierarchy] = [compare.choice.value, compare.place.value, compare.joined.value, compare.hierarchy.value];
  if (own === undefined || theirs === undefined || choice === undefined || place === undefined || joined === undefined) return undefined;
  // Until all that belongs together is there.
  if (theirs.hierarchy !== hierarchy || theirs.statistic !== own.statistic || theirs.stage !== own.stage) return undefined;
  return compareFlows(own, theirs, joined, choice.step === undefined ? undefined : place.ref.step);
}

const wanted = new WeakMap<Signal<Flow | undefined>, string>();

export function followTheirs(store: Store, client: Client, own: Signal<Flow | undefined>, theirs: Signal<Flow | undefined>): void {
  const [place, hierarchy, shown] = [store.compare.place.value, store.compare.hierarchy.value, own.value];
  if (place === undefined) {
    wanted.delete(theirs);
    theirs.value = undefined;
  }
  if (store.view.value !== "flow" || place === undefined || hierarchy === undefined || shown === undefined) return;
  const { run: { run }, tag } = place;
  const { statistic, stage, every } = shown;
  if (hierarchy === shown.hierarchy && run === store.run.value?.run && tag.tag === store.tag.value?.tag) {
    wanted.delete(theirs);
    theirs.value = shown;
    return;
  }
  const { hash } = hierarchy.graph;
  const backwardPass = stage === BACKWARD ? place.ref.backwardPass : 0;
  const key = [run, tag.tag, lengthOf(tag), hash, hierarchy.turned, statistic.id, stage, backwardPass, every].join("\n");
  if (key === wanted.get(theirs)) return;
  wanted.set(theirs, key);
  void readNew(client, { run, tag: tag.tag, hash, stage, backwardPass, every, columns: statistic.columns }, theirs, tag.records).then((reply) => {
    if (wanted.get(theirs) !== key) return;
    if (reply.ok) theirs.value = computeFlow(hierarchy, reply.value, statistic, stage, every);
    else {
      wanted.delete(theirs);
      store.notice.value = reply.error;
    }
  });
}
