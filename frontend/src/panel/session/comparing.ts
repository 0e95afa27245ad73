// Fetches the record and the graph that the shown ones are compared with.

import { batch, effect } from "@preact/signals";
import type { Dispose } from "../../base/disposer";
import type { Place } from "../../state/compare";
import type { Session } from "./session";

export function followCompared(session: Session): Dispose {
  return effect(() => void fetchOther(session, session.store.compare.place.value));
}

// What was fetched last stays until its successor is there, as for the shown record.
async function fetchOther(session: Session, place: Place | undefined): Promise<void> {
  const { compare, notice } = session.store;
  if (place === undefined) {
    compare.other.value = undefined;
    return;
  }
  const { run, tag, ref } = place;
  // A step on the other side does not change what it is compared with.
  if (compare.other.peek()?.place.ref === ref) return;
  const [graph, record] = await Promise.all([session.loadGraph(run.run, ref.hash), session.loadRecord(run.run, tag.tag, ref)]);
  if (compare.place.peek() !== place) return;
  batch(() => {
    if (graph.ok && record.ok) compare.other.value = { place, hierarchy: graph.value, record: record.value };
    else if (!graph.ok) notice.value = graph.error;
    else if (!record.ok) notice.value = record.error;
  });
}
