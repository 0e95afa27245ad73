// What the shown record is compared with, and the other way round.

import { batch, computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { compare, joinGraphs, type Comparison, type Joined } from "../model/compare/comparison";
import type { Hierarchy } from "../model/tree/hierarchy";
import type { RecordedStep } from "../model/recorded/record";
import { distinctSteps, nearestRecord, type RecordRef, type Run, type Tag } from "../model/recorded/run";
import { computeValues } from "../model/visible/values";
import type { Versus } from "./address";
import type { Store } from "./store";

// What is not chosen is as in what is shown, and follows it.
export interface Choice {
  readonly run: string | undefined;
  readonly tag: string | undefined;
  readonly step: number | undefined;
}

export interface Place {
  readonly run: Run;
  readonly tag: Tag;
  readonly ref: RecordRef;
}

export interface Other {
  readonly place: Place;
  readonly hierarchy: Hierarchy;
  readonly record: RecordedStep;
}

export interface CompareState {
  readonly choice: Signal<Choice | undefined>; // undefined: nothing is compared
  readonly reach: Signal<number>; // log2 of the ratio at which the color is full
  readonly other: Signal<Other | undefined>; // what was fetched
  readonly place: ReadonlySignal<Place | undefined>;
  readonly hierarchy: ReadonlySignal<Hierarchy | undefined>; // there
  readonly joined: ReadonlySignal<Joined | undefined>;
  readonly comparison: ReadonlySignal<Comparison | undefined>;
}

export const REACHES: readonly number[] = [1, 2, 4, 8, 16];
const START_REACH = 4;

export function createCompare(store: Pick<Store, "runs" | "run" | "tag" | "ref" | "hierarchy" | "values" | "statistic">): CompareState {
  const choice = signal<Choice | undefined>(undefined);
  const other = signal<Other | undefined>(undefined);
  // Each is a signal of its own, so that a step on one side makes only what is of that side anew.
  const hierarchy = computed(() => other.value?.hierarchy);
  const there = computed(() => other.value && computeValues(other.value.hierarchy, other.value.record, store.statistic.value));
  const joined = computed(() => {
    const [here, there] = [store.hierarchy.value, hierarchy.value];
    return here === undefined || there === undefined ? undefined : joinGraphs(here, there);
  });
  return {
    choice, other, hierarchy, joined, reach: signal(START_REACH),
    place: computed(() => choice.value && placeOf(store, choice.value)),
    comparison: computed(() => {
      const [shown, here, fetched, values, pairs] = [store.hierarchy.value, store.values.value, other.value, there.value, joined.value];
      if (choice.value === undefined || fetched === undefined || values === undefined) return undefined;
      if (shown === undefined || here === undefined || pairs === undefined) return undefined;
      return compare(shown, here, fetched, values, pairs, store.statistic.value);
    }),
  };
}

function placeOf({ runs, run, tag, ref }: Pick<Store, "runs" | "run" | "tag" | "ref">, choice: Choice): Place | undefined {
  const [here, shown, at] = [run.value, tag.value, ref.value];
  if (here === undefined || shown === undefined || at === undefined) return undefined;
  const there = choice.run === undefined ? here : runs.value.find((one) => one.run === choice.run);
  const name = choice.tag ?? shown.tag;
  const other = there?.tags.find((one) => one.tag === name) ?? there?.tags[0];
  const found = other?.records[nearestRecord(other.records, choice.step ?? at.step, at.backwardPass, at.stage)];
  return there === undefined || other === undefined || found === undefined ? undefined : { run: there, tag: other, ref: found };
}

// Begins with what is likeliest: the same step of another run, else the first step, else another graph.
export function startComparing(store: Store): void {
  const [run, tag, ref] = [store.run.value, store.tag.value, store.ref.value];
  if (run === undefined || tag === undefined || ref === undefined) return;
  const steps = distinctSteps(tag.records);
  const elsewhere = store.runs.value.find((one) => one !== run && one.tags.some((other) => other.tag === tag.tag));
  const otherTag = run.tags.find((one) => one !== tag);
  const base: Choice = { run: undefined, tag: undefined, step: undefined };
  if (steps.length > 1) store.compare.choice.value = { ...base, step: otherStep(store) };
  else if (otherTag !== undefined) store.compare.choice.value = { ...base, tag: otherTag.tag };
  else store.compare.choice.value = elsewhere === undefined ? base : { ...base, run: elsewhere.run };
}

export function stopComparing(store: Store): void {
  batch(() => {
    store.compare.choice.value = undefined;
    store.compare.other.value = undefined;
  });
}

export function chooseOther(store: Store, change: Partial<Choice>): void {
  const choice = store.compare.choice.peek();
  if (choice === undefined) return;
  const next = { ...choice, ...change };
  // Of another run or graph the same step is the likeliest, of the same one a step that stays.
  const turned = isElsewhere(next) !== isElsewhere(choice);
  store.compare.choice.value = turned ? { ...next, step: isElsewhere(next) ? undefined : otherStep(store) } : next;
}

function isElsewhere({ run, tag }: Choice): boolean {
  return run !== undefined || tag !== undefined;
}

// The first step, or where that is shown the last.
function otherStep(store: Store): number | undefined {
  const steps = distinctSteps(store.tag.peek()?.records ?? []);
  return store.ref.peek()?.step === steps[0] ? steps.at(-1) : steps[0];
}

// Here becomes there and there becomes here: what only the other graph has can so be seen.
export function swapSides(store: Store): void {
  const [place, choice, run, tag, ref] = [store.compare.place.peek(), store.compare.choice.peek(), store.run.peek(), store.tag.peek(), store.ref.peek()];
  if (place === undefined || choice === undefined || run === undefined || tag === undefined || ref === undefined) return;
  batch(() => {
    store.awaited.value = undefined;
    store.runName.value = place.run.run;
    store.tagName.value = place.tag.tag;
    store.recordIndex.value = place.tag.records.indexOf(place.ref);
    store.edge.value = undefined;
    store.compare.choice.value = {
      run: run === place.run ? undefined : run.run,
      tag: tag.tag === place.tag.tag ? undefined : tag.tag,
      step: ref.step === place.ref.step && choice.step === undefined ? undefined : ref.step,
    };
  });
}

export function applyVersus({ choice, reach }: CompareState, vs: Versus | undefined): void {
  // A link that says the same again must not fetch it again.
  const known = choice.peek();
  if (vs !== undefined && known !== undefined && known.run === vs.run && known.tag === vs.tag && known.step === vs.step) return;
  choice.value = vs && { run: vs.run, tag: vs.tag, step: vs.step };
  reach.value = vs?.reach !== undefined && REACHES.includes(vs.reach) ? vs.reach : START_REACH;
}

export function versusOf({ choice, reach }: CompareState): Versus | undefined {
  return choice.value && { ...choice.value, reach: reach.value === START_REACH ? undefined : reach.value };
}
