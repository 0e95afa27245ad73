// The numbers of the heat map.

import { batch, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Client } from "../../../api/client";
import { readFlow, type FlowQuery } from "../../../api/read_flow";
import type { Dispose } from "../../../base/disposer";
import { followLatest } from "../../../base/follow_latest";
import { success, type Result } from "../../../base/result";
import { FORWARD } from "../../../base/vocabulary";
import { computeFlow, thinning, type Flow, type FlowNumbers } from "../../../model/flow/flow";
import { intactColumns, joinColumns } from "../../../model/flow/flow_growth";
import { distinctSteps, isOfPass, lengthOf, type RecordRef } from "../../../model/recorded/run";
import type { Hierarchy } from "../../../model/tree/hierarchy";
import type { Around } from "../../view/view";

interface Kept {
  readonly query: string;
  readonly records: readonly RecordRef[];
  readonly numbers: FlowNumbers;
}

// The latest numbers, by whose they are. If a run grew, only its new columns are fetched.
const kept = new WeakMap<object, Kept>();

export async function readNew(client: Client, query: FlowQuery, flow: object, records: readonly RecordRef[]): Promise<Result<FlowNumbers>> {
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

// What the heat map shows, or showed when the view was last visible. In other views nothing is
// fetched, and earlier answers are kept.
export function whileShown<C>(isShown: ReadonlySignal<boolean>, choice: () => C): () => C | undefined {
  let last: C | undefined;
  return () => (isShown.value ? (last = choice()) : last);
}

// Reads the numbers of the shown graph, which are the same at every step.
export function followOwn(
  { store, client, isShown }: Around,
  own: Signal<Flow | undefined>,
  problem: Signal<string | undefined>,
  enter: (flow: Flow) => void,
): Dispose {
  const { place, recorded, shown } = store;
  const choice = () => {
    const [run, tag, hierarchy, ref] = [place.run.value?.run, place.tag.value, recorded.hierarchy.value, place.ref.value];
    const [statistic, wanted, half] = [shown.statistic.value, place.stage.value, place.half.value];
    if (run === undefined || tag === undefined || ref === undefined || hierarchy === undefined) {
      own.value = undefined;
      return undefined;
    }
    if (hierarchy.graph.hash !== ref.hash) return undefined;
    const ofGradients = tag.records.some((record) => record.stage === wanted) ? wanted : ref.stage;
    const stage = half === "value" ? FORWARD : ofGradients;
    return [
      statistic,
      stage,
      isOfPass(stage) ? ref.backwardPass : 0,
      run,
      tag.tag,
      lengthOf(tag),
      hierarchy.graph.hash,
      hierarchy.graph.joint,
      hierarchy.turned,
    ] as const;
  };
  return followLatest(
    whileShown(isShown, choice),
    async ([statistic, stage, backwardPass, run]): Promise<Result<Asked>> => {
      const [hierarchy, { tag, records }] = [recorded.hierarchy.peek()!, place.tag.peek()!];
      const every = thinning(hierarchy, distinctSteps(records).length);
      const query = { run, tag, hash: hierarchy.graph.hash, stage, backwardPass, every, columns: statistic.columns };
      const reply = await readNew(client, query, own, records);
      return reply.ok ? success({ hierarchy, every, numbers: reply.value }) : reply;
    },
    (reply, [statistic, stage]) => {
      problem.value = reply.ok ? undefined : reply.error;
      if (!reply.ok) return;
      const { hierarchy, every, numbers } = reply.value;
      const began = performance.now();
      batch(() => {
        own.value = computeFlow(hierarchy, numbers, statistic, stage, every);
        enter(own.value);
      });
      performance.measure("gradgraph:flow-numbers", { start: began, end: performance.now() });
    },
  );
}

export interface Asked {
  readonly hierarchy: Hierarchy;
  readonly every: number;
  readonly numbers: FlowNumbers;
}
