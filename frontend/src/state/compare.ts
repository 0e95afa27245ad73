// The other side of a comparison, which is one record or those of several runs, and the mapping in both directions.

import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { compare, relateNode, type Comparison, type Side } from "../model/compare/comparison";
import { joinedOf, type Joined } from "../model/compare/joined";
import { reachFor } from "../model/compare/ratio_reach";
import { halfOf, type Half, type RecordedStep } from "../model/recorded/record";
import { nearestRecord, runTitle, valuesBeside, type RecordRef, type Run, type Tag } from "../model/recorded/run";
import type { Statistic } from "../model/recorded/statistics";
import type { Hierarchy } from "../model/tree/hierarchy";
import { computeValues, type StepValues } from "../model/visible/values";
import type { GroupOfRuns, Versus } from "./address";

// Parts that are not chosen are the same as on the shown side, and change with it.
export interface Choice {
  readonly run: string | undefined;
  readonly tag: string | undefined;
  readonly step: number | undefined;
  readonly runs?: GroupOfRuns | undefined; // several, in place of `run`
}

export interface Place {
  readonly run: Run;
  readonly tag: Tag;
  readonly ref: RecordRef;
  readonly read: RecordRef | undefined; // the record that is compared; undefined: it has no values, and the shown one has
}

export interface Other {
  readonly place: Place;
  readonly hierarchy: Hierarchy;
  readonly record: RecordedStep;
}

export interface CompareState {
  readonly choice: Signal<Choice | undefined>; // undefined: nothing is compared
  readonly chosenReach: Signal<number | undefined>; // undefined: what the ratios need
  readonly reach: ReadonlySignal<number>; // log2 of the ratio at which the color is full
  readonly others: Signal<readonly Other[] | undefined>; // the fetched records: one, or one of each run
  readonly places: ReadonlySignal<readonly Place[]>;
  readonly place: ReadonlySignal<Place | undefined>; // the first one
  readonly hierarchy: ReadonlySignal<Hierarchy | undefined>; // of the first one
  readonly joined: ReadonlySignal<Joined | undefined>; // with the first one
  readonly comparison: ReadonlySignal<Comparison | undefined>;
}

export const REACHES: readonly number[] = [1, 2, 4, 8, 16];
export const MOST_COMPARED = 24; // runs; as many as are drawn beside each other in Charts
const LEAST_REACH = 4; // of those that are not chosen

// The parts of the store that a comparison needs.
export interface Shown {
  readonly runs: ReadonlySignal<readonly Run[]>;
  readonly run: ReadonlySignal<Run | undefined>;
  readonly tag: ReadonlySignal<Tag | undefined>;
  readonly ref: ReadonlySignal<RecordRef | undefined>;
  readonly half: ReadonlySignal<Half>; // that the shown side asks for
  readonly record: ReadonlySignal<RecordedStep | undefined>;
  readonly hierarchy: ReadonlySignal<Hierarchy | undefined>;
  readonly values: ReadonlySignal<StepValues | undefined>;
  readonly statistic: ReadonlySignal<Statistic>;
}

export function createCompare(store: Shown): CompareState {
  const choice = signal<Choice | undefined>(undefined);
  const others = signal<readonly Other[] | undefined>(undefined);
  // Each is a separate signal, so that a step on one side recomputes only the values of that side.
  const hierarchy = computed(() => others.value?.[0]?.hierarchy);
  const there = computed(() =>
    others.value?.map((other) => [other, computeValues(other.hierarchy, other.record, store.statistic.value)] as const),
  );
  const joined = computed(() => {
    const [here, there] = [store.hierarchy.value, hierarchy.value];
    return here === undefined || there === undefined ? undefined : joinedOf(here, there);
  });
  const comparison = computed(() => {
    const [shown, here] = [store.hierarchy.value, store.values.value];
    if (choice.value === undefined || shown === undefined || here === undefined) return undefined;
    const half = halfOf(store.record.value?.stage);
    const [first, ...more] = (there.value ?? []).map(([{ hierarchy, record }, values]): Side => ({
      hierarchy,
      record,
      values,
      joined: joinedOf(shown, hierarchy),
    }));
    // Until both sides have changed, a value would be compared with a gradient.
    if (first === undefined || [first, ...more].some(({ record }) => halfOf(record.stage) !== half)) return undefined;
    return compare(shown, here, [first, ...more], store.statistic.value);
  });
  const chosenReach = signal<number | undefined>(undefined);
  const places = computed(() => (choice.value === undefined ? [] : placesOf(store, choice.value)));
  return {
    choice,
    others,
    hierarchy,
    joined,
    comparison,
    chosenReach,
    reach: computed(() => chosenReach.value ?? neededReach(comparison.value)),
    places,
    place: computed(() => places.value[0]),
  };
}

function neededReach(comparison: Comparison | undefined): number {
  if (comparison === undefined) return LEAST_REACH;
  const ratios = Array.from({ length: comparison.first.joined.ownNodes }, (_, node) => relateNode(comparison, node).log2);
  return reachFor(ratios, REACHES, LEAST_REACH);
}

function placesOf(store: Shown, choice: Choice): readonly Place[] {
  const here = store.run.value;
  const name = choice.tag ?? store.tag.value?.tag;
  if (here === undefined || name === undefined) return [];
  if (choice.runs !== undefined) {
    const found = runsOf(choice.runs, groupable(store.runs.value, here, name));
    const places = found.flatMap(
      (run) =>
        placeIn(
          store,
          choice,
          run,
          run.tags.find(({ tag }) => tag === name),
        ) ?? [],
    );
    // Of values, the runs that recorded some.
    return places.some(({ read }) => read !== undefined) ? places.filter(({ read }) => read !== undefined) : places;
  }
  const there = choice.run === undefined ? here : store.runs.value.find(({ run }) => run === choice.run);
  const place = there && placeIn(store, choice, there, there.tags.find(({ tag }) => tag === name) ?? there.tags[0]);
  return place === undefined ? [] : [place];
}

// What the other side is, in words: "run / graph", or how many runs.
export function thereText(places: readonly Place[], separator = " / "): string {
  const [first] = places;
  if (first === undefined) return "";
  return [places.length > 1 ? `the median of ${places.length} runs` : runTitle(first.run.run), first.tag.tag].join(separator);
}

// The runs that the shown one can be compared with as a group: those with a graph of the same name.
export function groupable(runs: readonly Run[], here: Run, tag: string): readonly Run[] {
  return runs.filter((run) => run !== here && run.tags.some((one) => one.tag === tag && one.records.length > 0));
}

function runsOf(chosen: GroupOfRuns, among: readonly Run[]): readonly Run[] {
  return (chosen === "every" ? among : among.filter(({ run }) => chosen.includes(run))).slice(0, MOST_COMPARED);
}

function placeIn({ ref, half }: Shown, choice: Choice, run: Run, tag: Tag | undefined): Place | undefined {
  const at = ref.value;
  if (at === undefined || tag === undefined) return undefined;
  const found = tag.records[nearestRecord(tag.records, choice.step ?? at.step, at.backwardPass, at.stage)];
  return found && { run, tag, ref: found, read: half.value === "value" ? valuesBeside(found) : found };
}

export function applyVersus({ choice, chosenReach }: CompareState, vs: Versus | undefined): void {
  // If a link repeats the present choice, nothing is fetched again.
  const known = choice.peek();
  const same = vs !== undefined && known !== undefined;
  if (same && known.run === vs.run && known.tag === vs.tag && known.step === vs.step && isSame(known.runs, vs.runs)) return;
  choice.value = vs && { run: vs.run, tag: vs.tag, step: vs.step, runs: vs.runs };
  chosenReach.value = vs?.reach !== undefined && REACHES.includes(vs.reach) ? vs.reach : undefined;
}

export function versusOf({ choice, chosenReach }: CompareState): Versus | undefined {
  return choice.value && { ...choice.value, reach: chosenReach.value };
}

function isSame(one: GroupOfRuns | undefined, other: GroupOfRuns | undefined): boolean {
  return String(one) === String(other);
}
