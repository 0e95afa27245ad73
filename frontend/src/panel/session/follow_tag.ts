// Fetches what is known of all records of the shown tag: the range of its numbers, and its bad steps.

import type { Client } from "../../api/client";
import type { Dispose } from "../../base/disposer";
import { followLatest } from "../../base/follow_latest";
import { success } from "../../base/result";
import { around } from "../../model/recorded/statistics";
import type { Store } from "../../state/store";

export function followMagnitudes({ place, recorded, shown }: Store, client: Client): Dispose {
  const choice = () => {
    const [run, tag] = [place.run.value?.run, place.tag.value];
    // They are the same for all graphs of the tag.
    const hash = tag?.hashes[0];
    return run === undefined || tag === undefined || hash === undefined
      ? undefined
      : ([run, tag, hash, shown.statistic.value, place.half.value] as const);
  };
  return followLatest(
    choice,
    async ([run, tag, hash, { columns }, half]) => {
      return success(await Promise.all(columns.map((column) => client.magnitudes(run, tag.tag, hash, column, half))));
    },
    (replies) => {
      const known = replies.ok ? replies.value.flatMap((reply) => (reply.ok && reply.value !== undefined ? [reply.value] : [])) : [];
      recorded.magnitudes.value =
        known.length === 0
          ? undefined
          : { domain: around(known.map(({ domain }) => domain)), fences: around(known.map(({ fences }) => fences)) };
    },
  );
}

export function followBadSteps({ place, recorded }: Store, client: Client): Dispose {
  const choice = () => {
    const [run, tag] = [place.run.value?.run, place.tag.value];
    return run === undefined || tag === undefined ? undefined : ([run, tag, place.half.value] as const);
  };
  return followLatest(
    choice,
    ([run, tag, half]) => client.nonfiniteSteps(run, tag.tag, tag.hashes, half),
    (reply) => {
      recorded.badSteps.value = reply.ok ? reply.value : new Map();
    },
  );
}
