// The shown state in the form of the address, without the parts of single views.

import { DEFAULT_RAMP } from "../../draw/style/ramp_names";
import { BACKWARD } from "../../model/recorded/run";
import { chosenGroups } from "../../state/actions";
import type { Address } from "../../state/address";
import { versusOf } from "../../state/compare";
import type { Store } from "../../state/store";
import { linkedText } from "../../state/story";

export function addressOf(store: Store): Address {
  const ref = store.place.ref.value;
  const follow = store.live.follow.value;
  const awaited = store.place.awaited.value;
  const { run, tag, step, pass, stage, hash, sel, open, turned } = awaited ?? {};
  return {
    view: store.shown.view.value,
    run: store.place.run.value?.run,
    tag: store.place.tag.value?.tag,
    step: follow ? undefined : ref?.step,
    pass: ref === undefined || ref.backwardPass === 0 ? undefined : ref.backwardPass,
    stage: store.place.stage.value === BACKWARD ? undefined : store.place.stage.value,
    hash: (store.place.tag.value?.hashes.length ?? 0) > 1 ? ref?.hash : undefined,
    stat: store.shown.wanted.value,
    dir: store.place.direction.value,
    sel: store.shown.selected.value,
    open: chosenGroups(store),
    turned: [...store.graph.turned.value],
    purpose: [...store.findings.purposed.value, ...store.findings.linked.value],
    marks: linkedText(store.story.marks.value),
    vs: versusOf(store.compare),
    colors: store.look.ramp.value === DEFAULT_RAMP ? undefined : store.look.ramp.value,
    follow: follow || undefined,
    sessions: store.place.allSessions.value || undefined,
    ...(awaited && { run, tag, step, pass, stage, hash, sel, open, turned }),
  };
}
