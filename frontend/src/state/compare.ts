// The other side of a comparison, and the mapping in both directions.

import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { compare, joinGraphs, relateNode, type Comparison, type Joined } from "../model/compare/comparison";
import { reachFor } from "../model/compare/ratio_reach";
import { halfOf, type Half, type RecordedStep } from "../model/recorded/record";
import { nearestRecord, valuesBeside, type RecordRef, type Run, type Tag } from "../model/recorded/run";
import type { Statistic } from "../model/recorded/statistics";
import type { Hierarchy } from "../model/tree/hierarchy";
import { computeValues, type StepValues } from "../model/visible/values";
import type { Versus } from "./address";

// Parts that are not chosen are the same as on the shown side, and change with it.
export interface Choice {
  readonly run: string | undefined;
  readonly tag: string | undefined;
  readonly step: number | undefined;
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
  readonly other: Signal<Other | undefined>; // the fetched record
  readonly place: ReadonlySignal<Place | undefined>;
  readonly hierarchy: ReadonlySignal<Hierarchy | undefined>; // there
  readonly joined: ReadonlySignal<Joined | undefined>;
  readonly comparison: ReadonlySignal<Comparison | undefined>;
}

export const REACHES: readonly number[] = [1, 2, 4, 8, 16];
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
  const other = signal<Other | undefined>(undefined);
  // Each is a separate signal, so that a step on one side recomputes only the values of that side.
  const hierarchy = computed(() => other.value?.hierarchy);
  const there = computed(() => other.value && computeValues(other.value.hierarchy, other.value.record, store.statistic.value));
  const joined = computed(() => {
    const [here, there] = [store.hierarchy.value, hierarchy.value];
    return here === undefined || there === undefined ? undefined : joinGraphs(here, there);
  });
  const comparison = computed(() => {
    const [shown, here, fetched, values, pairs] = [store.hierarchy.value, store.values.value, other.value, there.value, joined.value];
    if (choice.value === undefined || fetched === undefined || values === undefined) return undefined;
    if (shown === undefined || here === undefined || pairs === undefined) return undefined;
    // Until both sides have changed, a value would be compared with a gradient.
    if (halfOf(store.record.value?.stage) !== halfOf(fetched.record.stage)) return undefined;
    return compare(shown, here, fetched, values, pairs, store.statistic.value);
  });
  const chosenReach = signal<number | undefined>(undefined);
  return {
    choice,
    other,
    hierarchy,
    joined,
    comparison,
    chosenReach,
    reach: computed(() => chosenReach.value ?? neededReach(comparison.value)),
    place: computed(() => choice.value && placeOf(store, choice.value)),
  };
}

function neededReach(comparison: Comparison | undefined): number {
  if (comparison === undefined) return LEAST_REACH;
  const ratios = Array.from({ length: comparison.joined.ownNodes }, (_, node) => relateNode(comparison, node).log2);
  return reachFor(ratios, REACHES, LEAST_REACH);
}

function placeOf({ runs, run, tag, ref, half }: Shown, choice: Choice): Place | undefined {
  const [here, shown, at] = [run.value, tag.value, ref.value];
  if (here === undefined || shown === undefined || at === undefined) return undefined;
  const there = choice.run === undefined ? here : runs.value.find((one) => one.run === choice.run);
  const name = choice.tag ?? shown.tag;
  const other = there?.tags.find((one) => one.tag === name) ?? there?.tags[0];
  const found = other?.records[nearestRecord(other.records, choice.step ?? at.step, at.backwardPass, at.stage)];
  if (there === undefined || other === undefined || found === undefined) return undefined;
  return { run: there, tag: other, ref: found, read: half.value === "value" ? valuesBeside(found) : found };
}

export function applyVersus({ choice, chosenReach }: CompareState, vs: Versus | undefined): void {
  // If a link repeats the present choice, nothing is fetched again.
  const known = choice.peek();
  if (vs !== undefined && known !== undefined && known.run === vs.run && known.tag === vs.tag && known.step === vs.step) return;
  choice.value = vs && { run: vs.run, tag: vs.tag, step: vs.step };
  chosenReach.value = vs?.reach !== undefined && REACHES.includes(vs.reach) ? vs.reach : undefined;
}

export function versusOf({ choice, chosenReach }: CompareState): Versus | undefined {
  return choice.value && { ...choice.value, reach: chosenReach.value };
}
