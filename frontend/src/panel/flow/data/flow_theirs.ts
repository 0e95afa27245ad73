// The heat maps of the other side of a comparison, one for each run. They are fetched; if all steps are compared with
// one step, it is the shown map itself.

import type { Signal } from "@preact/signals";
import { success, type Result } from "../../../base/result";
import type { Dispose } from "../../../base/disposer";
import { followLatest } from "../../../base/follow_latest";
import { joinedOf } from "../../../model/compare/joined";
import { computeFlow, type Flow } from "../../../model/flow/flow";
import { compareFlows, type ComparedFlow, type OtherFlow } from "../../../model/flow/flow_compared";
import { isOfPass, lengthOf } from "../../../model/recorded/run";
import type { Other } from "../../../state/compare";
import type { Store } from "../../../state/store";
import type { Around } from "../../view/view";
import { readNew, whileShown, type Asked } from "./flow_numbers";

export function comparedOf({ compare }: Store, own: Flow | undefined, theirs: readonly Flow[] | undefined): ComparedFlow | undefined {
  const [choice, places, others] = [compare.choice.value, compare.places.value, compare.others.value];
  if (own === undefined || theirs === undefined || choice === undefined || others === undefined) return undefined;
  // While some of the data is missing.
  if (theirs.length !== places.length || theirs.length !== others.length) return undefined;
  const fits = ({ hierarchy, statistic, stage }: Flow, i: number): boolean =>
    hierarchy === others[i]!.hierarchy && statistic === own.statistic && stage === own.stage;
  const [first, ...more] = theirs.map((flow, i): OtherFlow => ({
    flow,
    joined: joinedOf(own.hierarchy, flow.hierarchy),
    against: choice.step === undefined ? undefined : places[i]!.ref.step,
  }));
  return first === undefined || !theirs.every(fits) ? undefined : compareFlows(own, [first, ...more]);
}

export function followTheirs(
  { store, client, isShown }: Around,
  own: Signal<Flow | undefined>,
  theirs: Signal<readonly Flow[] | undefined>,
): Dispose {
  const { place: here, compare, shown } = store;
  // By run and graph: what is kept of the numbers.
  const readers = new Map<string, object>();
  const readerOf = (key: string): object => {
    const reader = readers.get(key) ?? {};
    readers.set(key, reader);
    return reader;
  };
  const choice = () => {
    const [others, map] = [compare.others.value, own.value];
    if (compare.place.value === undefined) {
      theirs.value = undefined;
      readers.clear();
    }
    if (compare.place.value === undefined || others === undefined || map === undefined) return undefined;
    const [{ place, hierarchy }] = others as [Other];
    if (
      others.length === 1 &&
      hierarchy === map.hierarchy &&
      place.run.run === here.run.value?.run &&
      place.tag.tag === here.tag.value?.tag
    ) {
      theirs.value = [map];
      return undefined;
    }
    const versions = compare.places.value.map(({ run, tag }) => [run.run, tag.tag, lengthOf(tag)].join("\n"));
    const graphs = others.map(({ hierarchy: { graph, turned }, place: { ref } }) =>
      [graph.hash, turned, isOfPass(map.stage) ? ref.backwardPass : 0].join(),
    );
    return [map.statistic, map.stage, map.every, versions.join("\n"), graphs.join("\n")] as const;
  };
  return followLatest(
    whileShown(isShown, choice),
    async ([statistic, stage, every]): Promise<Result<readonly Asked[]>> => {
      const places = compare.places.peek();
      const readOne = async ({ hierarchy, place }: Other): Promise<Result<Asked>> => {
        const [run, tag] = [place.run.run, place.tag.tag];
        const records = (places.find((one) => one.run.run === run) ?? place).tag.records;
        const backwardPass = isOfPass(stage) ? place.ref.backwardPass : 0;
        const query = { run, tag, hash: hierarchy.graph.hash, stage, backwardPass, every, columns: statistic.columns };
        const reply = await readNew(client, query, readerOf([run, tag].join("\n")), records);
        return reply.ok ? success({ hierarchy, every, numbers: reply.value }) : reply;
      };
      const replies = await Promise.all(compare.others.peek()!.map(readOne));
      const failed = replies.find(({ ok }) => !ok);
      return failed?.ok === false ? failed : success(replies.flatMap((reply) => (reply.ok ? [reply.value] : [])));
    },
    (reply, [statistic, stage]) => {
      if (!reply.ok) shown.notice.value = reply.error;
      else theirs.value = reply.value.map(({ hierarchy, numbers, every }) => computeFlow(hierarchy, numbers, statistic, stage, every));
    },
  );
}
