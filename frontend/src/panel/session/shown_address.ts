// What is shown, as the address says it; but for what belongs to one view.

import { DEFAULT_RAMP } from "../../draw/style/ramp_names";
import { BACKWARD } from "../../model/recorded/run";
import { chosenGroups } from "../../state/actions";
import type { Address } from "../../state/address";
import { versusOf } from "../../state/compare";
import type { Store } from "../../state/store";

export function addressOf(store: Store): Address {
  const ref = store.ref.value;
  const follow = store.follow.value;
  const awaited = store.awaited.value;
  const { run, tag, step, pass, stage, hash, sel, open, turned } = awaited ?? {};
  return {
    view: store.view.value,
    run: store.run.value?.run,
    tag: store.tag.value?.tag,
    step: follow ? undefined : ref?.step,
    pass: ref === undefined || ref.backwardPass === 0 ? undefined : ref.backwardPass,
    stage: store.stage.value === BACKWARD ? undefined : store.stage.value,
    hash: (store.tag.value?.hashes.length ?? 0) > 1 ? ref?.hash : undefined,
    stat: store.statistic.value.id,
    dir: store.direction.value,
    sel: store.selected.value,
    open: chosenGroups(store),
    turned: [...store.turned.value],
    vs: versusOf(store.compare),
    colors: store.ramp.value === DEFAULT_RAMP ? undefined : store.ramp.value,
    follow: follow || undefined,
    sessions: store.allSessions.value || undefined,
    ...(awaited && { run, tag, step, pass, stage, hash, sel, open, turned }),
  };
}
