// The one mutable thing of the panel: what is shown, as signals.

import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { BadSteps } from "../model/recorded/bad_steps";
import type { RecordedStep } from "../model/recorded/record";
import { BACKWARD, type RecordRef, type Run, type Tag } from "../model/recorded/run";
import { DEFAULT_STATISTIC, statisticOf, type Magnitudes, type Statistic } from "../model/recorded/statistics";
import type { Hierarchy } from "../model/tree/hierarchy";
import { showGraph, type VisibleGraph } from "../model/visible/collapse";
import { computeValues, type StepValues } from "../model/visible/values";
import type { Address, Direction } from "./address";
import { createCompare, type CompareState } from "./compare";

export type Phase =
  | { readonly kind: "loading" }
  | { readonly kind: "ready" }
  | { readonly kind: "error"; readonly sentence: string };

export interface Store {
  readonly alone: boolean; // the panel is a file of its own: no TensorBoard is around it
  readonly phase: Signal<Phase>;
  readonly runs: Signal<readonly Run[]>;
  readonly allSessions: Signal<boolean>; // whether sessions that later ones hide are among them
  readonly runName: Signal<string | undefined>;
  readonly tagName: Signal<string | undefined>;
  readonly awaited: Signal<Address | undefined>; // a link to a run that is still to come
  readonly recordIndex: Signal<number>;
  readonly stage: Signal<string>; // that was asked for; a step without it shows the nearest
  readonly statistic: Signal<Statistic>;
  readonly direction: Signal<Direction>;
  readonly selected: Signal<string | undefined>; // id of a box, whether it is visible or not
  readonly hovered: Signal<string | undefined>;
  readonly edge: Signal<readonly number[] | undefined>; // the edges of the graph that a chosen line stands for
  readonly sought: Signal<string | undefined>; // id of a box that must come into view, near enough to be read
  readonly focused: Signal<string | undefined>; // the same of one that has the keyboard's focus: in sight, it stays where it is
  readonly refits: Signal<number>; // counts the changes after which the camera starts anew
  readonly open: Signal<ReadonlySet<string> | undefined>; // ids of open groups; undefined: not chosen yet
  readonly turned: Signal<ReadonlySet<string>>; // keys of tensors that are drawn once although many use them, or beside each of a few uses
  readonly view: Signal<string | undefined>; // id; undefined: the first one
  readonly dark: Signal<boolean>;
  readonly ramp: Signal<string>; // the colors of numbers, by id
  readonly playing: Signal<boolean>;
  readonly follow: Signal<boolean>; // the last recorded step is shown, whichever that is
  readonly unseen: Signal<number>; // steps that came since the last one was shown
  readonly unreachable: Signal<boolean>; // the server did not answer when it was asked for news
  readonly notice: Signal<string | undefined>;
  readonly hierarchy: Signal<Hierarchy | undefined>;
  readonly record: Signal<RecordedStep | undefined>;
  readonly magnitudes: Signal<Magnitudes | undefined>;
  readonly badSteps: Signal<BadSteps>; // of the tag

  readonly run: ReadonlySignal<Run | undefined>;
  readonly tag: ReadonlySignal<Tag | undefined>;
  readonly ref: ReadonlySignal<RecordRef | undefined>;
  readonly hash: ReadonlySignal<string | undefined>; // of the graph of that record
  readonly openGroups: ReadonlySignal<ReadonlySet<number>>;
  readonly visible: ReadonlySignal<VisibleGraph | undefined>;
  readonly values: ReadonlySignal<StepValues | undefined>;
  readonly compare: CompareState;
}

export function createStore(alone = false): Store {
  const runs = signal<readonly Run[]>([]);
  const runName = signal<string | undefined>(undefined);
  const tagName = signal<string | undefined>(undefined);
  const recordIndex = signal(0);
  const statistic = signal(DEFAULT_STATISTIC);
  const open = signal<ReadonlySet<string> | undefined>(undefined);
  const hierarchy = signal<Hierarchy | undefined>(undefined);
  const record = signal<RecordedStep | undefined>(undefined);
  const run = computed(
    () => runs.value.find((one) => one.run === runName.value) ?? runs.value.find(({ tags }) => tags.length > 0) ?? runs.value[0],
  );
  const tag = computed(() => run.value?.tags.find((one) => one.tag === tagName.value) ?? run.value?.tags[0]);
  const ref = computed(() => {
    const records = tag.value?.records ?? [];
    return records[Math.min(recordIndex.value, records.length - 1)];
  });
  const openGroups = computed(() => groupNumbers(hierarchy.value, open.value));
  const values = computed(() => {
    const [shown, numbers] = [hierarchy.value, record.value];
    // While a new graph loads, the old record is of another structure.
    if (shown === undefined || numbers === undefined || numbers.hash !== shown.graph.hash) return undefined;
    return numbers.rows === shown.graph.rows ? computeValues(shown, numbers, statistic.value) : undefined;
  });
  return {
    alone,
    phase: signal<Phase>({ kind: "loading" }),
    runs, runName, tagName, recordIndex, statistic, open, hierarchy, record, run, tag, openGroups,
    allSessions: signal(false),
    awaited: signal<Address | undefined>(undefined),
    direction: signal<Direction>("backward"),
    stage: signal(BACKWARD),
    selected: signal<string | undefined>(undefined),
    hovered: signal<string | undefined>(undefined),
    edge: signal<readonly number[] | undefined>(undefined),
    sought: signal<string | undefined>(undefined),
    focused: signal<string | undefined>(undefined),
    refits: signal(0),
    turned: signal<ReadonlySet<string>>(new Set()),
    view: signal<string | undefined>(undefined),
    dark: signal(false),
    ramp: signal(""),
    playing: signal(false),
    follow: signal(false),
    unseen: signal(0),
    unreachable: signal(false),
    notice: signal<string | undefined>(undefined),
    magnitudes: signal<Magnitudes | undefined>(undefined),
    badSteps: signal<BadSteps>(new Map()),
    ref,
    // A signal of its own: most steps change the record but not the graph.
    hash: computed(() => ref.value?.hash),
    visible: computed(() => hierarchy.value && showGraph(hierarchy.value, openGroups.value)),
    values,
    compare: createCompare({ runs, run, tag, ref, hierarchy, values, statistic }),
  };
}

function groupNumbers(hierarchy: Hierarchy | undefined, open: ReadonlySet<string> | undefined): ReadonlySet<number> {
  const numbers = new Set<number>();
  for (const id of open ?? []) {
    const group = hierarchy?.groupOf.get(id);
    if (group !== undefined) numbers.add(group);
  }
  return numbers;
}

export function setStatistic(store: Store, id: string): void {
  const statistic = statisticOf(id);
  if (statistic !== undefined) store.statistic.value = statistic;
}
