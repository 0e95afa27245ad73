// The numbers of a heat map, and the other one while two are compared: fetched, or where it is a step of the same one, that itself.

import type { Signal } from "@preact/signals";
import type { Client } from "../../api/client";
import { readFlow, type FlowQuery } from "../../api/read_flow";
import { success, type Result } from "../../base/result";
import { computeFlow, type Flow, type FlowNumbers } from "../../model/flow/flow";
import { compareFlows, type ComparedFlow } from "../../model/flow/flow_compared";
import { intactColumns, joinColumns } from "../../model/flow/flow_growth";
import { BACKWARD, lengthOf, type RecordRef } from "../../model/recorded/run";
import type { Store } from "../../state/store";
import type { Around } from "../view/view";

interface Kept {
  readonly query: string;
  readonly records: readonly RecordRef[];
  readonly numbers: FlowNumbers;
}

// The numbers that each heat map was last drawn from: of a run that grew only its new columns are asked for.
const kept = new WeakMap<Signal<Flow | undefined>, Kept>();

export async function readNew(client: Client, query: FlowQuery, flow: Signal<Flow | undefined>, records: readonly RecordRef[]): Promise<Result<FlowNumbers>> {
  const known = kept.get(flow);
  const same = known !== undefined && known.query === JSON.stringify(query);
  if (same && known.records === records) return success(known.numbers);
  const intact = same ? intactColumns(known.numbers.steps, known.records, records) : 0;
  const reply = await readFlow(client, query, intact);
  if (!reply.ok) return reply;
  const numbers = same && known.numbers.slots === reply.value.slots ? joinColumns(known.numbers, intact, reply.value) : reply.value;
  kept.set(flow, { query: JSON.stringify(query), records, numbers });
  return success(numbers);
}

export function comparedOf({ compare }: Store, own: Flow | undefined, theirs: Flow | undefined): ComparedFlow | undefined {
  const [choice, place, joined, hierarchy] = [compare.choice.value, compare.place.value, compare.joined.value, compare.hierarchy.value];
  if (own === undefined || theirs === undefined || choice === undefined || place === undefined || joined === undefined) return undefined;
  // Until all that belongs together is there.
  if (theirs.hierarchy !== hierarchy || theirs.statistic !== own.statistic || theirs.stage !== own.stage) return undefined;
  return compareFlows(own, theirs, joined, choice.step === undefined ? undefined : place.ref.step);
}

const wanted = new WeakMap<Signal<Flow | undefined>, string>();

export function followTheirs({ store, client, isShown }: Around, own: Signal<Flow | undefined>, theirs: Signal<Flow | undefined>): void {
  const [place, hierarchy, shown] = [store.compare.place.value, store.compare.hierarchy.value, own.value];
  if (place === undefined) {
    wanted.delete(theirs);
    theirs.value = undefined;
  }
  if (!isShown.value || place === undefined || hierarchy === undefined || shown === undefined) return;
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
