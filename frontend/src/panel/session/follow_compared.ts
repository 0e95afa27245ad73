// Fetches the other side of a comparison: one record, or one of each run.

import type { Dispose } from "../../base/disposer";
import { followLatest } from "../../base/follow_latest";
import { success, type Result } from "../../base/result";
import type { Other, Place } from "../../state/compare";
import type { Store } from "../../state/store";
import type { Loader } from "./loader";

// The latest records stay until their replacement arrives.
export function followCompared({ compare, graph: { turned }, shown: { notice } }: Store, loader: Loader): Dispose {
  const choice = () => {
    const places = compare.places.value;
    if (places[0]?.read === undefined) return undefined;
    // A step on one side does not fetch the other side again.
    const known = compare.others.peek() ?? [];
    const same = known.length === places.length && places.every(({ read }, i) => read === known[i]!.place.read);
    return same ? undefined : ([places] as const);
  };
  const readOne = async (place: Place): Promise<Result<Other>> => {
    const { run, tag, ref, read = ref } = place;
    const [graph, record] = await Promise.all([
      loader.loadGraph(run.run, ref.hash, turned.peek()),
      loader.loadRecord(run.run, tag.tag, read),
    ]);
    if (!graph.ok) return graph;
    return record.ok ? success({ place, hierarchy: graph.value, record: record.value }) : record;
  };
  const ask = async ([places]: readonly [readonly Place[]]): Promise<Result<readonly Other[]>> => {
    const replies = await Promise.all(places.map(readOne));
    const failed = replies.find(({ ok }) => !ok);
    return failed?.ok === false ? failed : success(replies.flatMap((reply) => (reply.ok ? [reply.value] : [])));
  };
  return followLatest(choice, ask, (reply) => {
    if (reply.ok) compare.others.value = reply.value;
    else notice.value = reply.error;
  });
}
