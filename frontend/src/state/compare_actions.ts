// Starts, changes and ends a comparison.

import { batch } from "@preact/signals";
import { distinctSteps } from "../model/recorded/run";
import { groupable, type Choice } from "./compare";
import type { Store } from "./store";

// Starts with the most likely choice: the same step of another run, or else the first step, or else another graph.
export function startComparing(store: Store): void {
  const [run, tag, ref] = [store.place.run.value, store.place.tag.value, store.place.ref.value];
  if (run === undefined || tag === undefined || ref === undefined) return;
  const steps = distinctSteps(tag.records);
  const elsewhere = store.recorded.runs.value.find((one) => one !== run && one.tags.some((other) => other.tag === tag.tag));
  const otherTag = run.tags.find((one) => one !== tag);
  const base: Choice = { run: undefined, tag: undefined, step: undefined };
  if (steps.length > 1) store.compare.choice.value = { ...base, step: otherStep(store) };
  else if (otherTag !== undefined) store.compare.choice.value = { ...base, tag: otherTag.tag };
  else store.compare.choice.value = elsewhere === undefined ? base : { ...base, run: elsewhere.run };
}

export function stopComparing(store: Store): void {
  batch(() => {
    store.compare.choice.value = undefined;
    store.compare.others.value = undefined;
  });
}

export function chooseOther(store: Store, change: Partial<Choice>): void {
  const choice = store.compare.choice.peek();
  if (choice === undefined) return;
  const next = { ...choice, ...change };
  // For another run or graph, the same step is the most likely choice. For the same one, it is a fixed step.
  const turned = isElsewhere(next) !== isElsewhere(choice);
  store.compare.choice.value = turned ? { ...next, step: isElsewhere(next) ? undefined : otherStep(store) } : next;
}

// The runs that can be the group of the comparison.
export function groupableRuns({ recorded, place, compare }: Store): readonly string[] {
  const [here, tag] = [place.run.value, compare.choice.value?.tag ?? place.tag.value?.tag];
  return here === undefined || tag === undefined ? [] : groupable(recorded.runs.value, here, tag).map(({ run }) => run);
}

// Takes one run into the group, or out of it. The last one stays.
export function toggleCompared(store: Store, run: string): void {
  const all = groupableRuns(store);
  const now = store.compare.places.peek().map((place) => place.run.run);
  const next = now.includes(run) ? now.filter((one) => one !== run) : [...now, run];
  if (next.length > 0) chooseOther(store, { runs: next.length === all.length ? "every" : next });
}

function isElsewhere({ run, tag, runs }: Choice): boolean {
  return run !== undefined || tag !== undefined || runs !== undefined;
}

// The first step, or the last one if the first one is shown.
function otherStep(store: Store): number | undefined {
  const steps = distinctSteps(store.place.tag.peek()?.records ?? []);
  return store.place.ref.peek()?.step === steps[0] ? steps.at(-1) : steps[0];
}

// Swaps both sides, so that the user can look at what only the other graph has.
export function swapSides(store: Store): void {
  const [place, choice, run, tag, ref] = [
    store.compare.place.peek(),
    store.compare.choice.peek(),
    store.place.run.peek(),
    store.place.tag.peek(),
    store.place.ref.peek(),
  ];
  if (choice?.runs !== undefined) return; // a group cannot be shown
  if (place === undefined || choice === undefined || run === undefined || tag === undefined || ref === undefined) return;
  batch(() => {
    store.place.awaited.value = undefined;
    store.place.runName.value = place.run.run;
    store.place.tagName.value = place.tag.tag;
    store.place.recordIndex.value = place.tag.records.indexOf(place.ref);
    store.shown.edge.value = undefined;
    store.compare.choice.value = {
      run: run === place.run ? undefined : run.run,
      tag: tag.tag === place.tag.tag ? undefined : tag.tag,
      step: ref.step === place.ref.step && choice.step === undefined ? undefined : ref.step,
    };
  });
}
