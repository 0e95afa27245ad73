// The only mutable state of the panel: what is shown, as signals, grouped by subject. A view keeps
// the state that belongs only to it.

import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { BadSteps } from "../model/recorded/bad_steps";
import { halfOf, type Half, type RecordedStep } from "../model/recorded/record";
import { BACKWARD, valuesBeside, type RecordRef, type Run, type Tag } from "../model/recorded/run";
import { DEFAULT_STATISTIC, statisticsFor, type Magnitudes, type Statistic } from "../model/recorded/statistics";
import type { Hierarchy } from "../model/tree/hierarchy";
import { showGraph, type VisibleGraph } from "../model/visible/collapse";
import { computeValues, type StepValues } from "../model/visible/values";
import type { Address, Direction } from "./address";
import { createCompare, type CompareState } from "./compare";
import { createFindings, type FindingsState } from "./findings_state";
import { createStory, type StoryState } from "./story";

export type Phase = { readonly kind: "loading" } | { readonly kind: "ready" } | { readonly kind: "error"; readonly sentence: string };

export interface Store {
  readonly alone: boolean; // the panel is a standalone file, without TensorBoard around it
  readonly recorded: RecordedState;
  readonly place: PlaceState;
  readonly shown: ShownState;
  readonly graph: GraphState;
  readonly look: LookState;
  readonly live: LiveState;
  readonly compare: CompareState;
  readonly findings: FindingsState;
  readonly story: StoryState;
}

// The data that was fetched from the server.
export interface RecordedState {
  readonly runs: Signal<readonly Run[]>;
  readonly hierarchy: Signal<Hierarchy | undefined>;
  readonly record: Signal<RecordedStep | undefined>;
  readonly beside: Signal<RecordedStep | undefined>; // of the same step: the values if gradients are shown, and vice versa
  readonly magnitudes: Signal<Magnitudes | undefined>;
  readonly badSteps: Signal<BadSteps>; // of the tag
}

// The place in the data: what was requested, and what exists.
export interface PlaceState {
  readonly allSessions: Signal<boolean>; // whether hidden sessions are among the runs
  readonly runName: Signal<string | undefined>;
  readonly tagName: Signal<string | undefined>;
  readonly recordIndex: Signal<number>;
  readonly stage: Signal<string>; // the requested one; a step without it shows the nearest stage
  readonly awaited: Signal<Address | undefined>; // a link to a run that does not exist yet
  readonly run: ReadonlySignal<Run | undefined>;
  readonly tag: ReadonlySignal<Tag | undefined>;
  readonly ref: ReadonlySignal<RecordRef | undefined>;
  readonly hash: ReadonlySignal<string | undefined>; // of the graph of that record
  readonly direction: Signal<Direction>; // forward shows values where they were recorded, backward shows gradients
  readonly read: ReadonlySignal<RecordRef | undefined>; // the record whose numbers are shown: `ref`, or the values beside it
  readonly half: ReadonlySignal<Half>; // of `read`
}

// What is shown of it, in any view.
export interface ShownState {
  readonly phase: Signal<Phase>;
  readonly notice: Signal<string | undefined>;
  readonly view: Signal<string | undefined>; // id; undefined: the first one
  readonly wanted: Signal<string>; // the id of the chosen statistic
  readonly statistic: ReadonlySignal<Statistic>; // the same, or the default if these numbers do not have it
  readonly half: ReadonlySignal<Half>; // of the record that has arrived
  readonly selected: Signal<string | undefined>; // id of a box, whether it is visible or not
  readonly edge: Signal<readonly number[] | undefined>; // the edges of the graph that a selected line shows
  readonly values: ReadonlySignal<StepValues | undefined>;
}

// How the graph is drawn.
export interface GraphState {
  readonly open: Signal<ReadonlySet<string> | undefined>; // ids of open groups; undefined: not chosen yet
  readonly turned: Signal<ReadonlySet<string>>; // keys of tensors drawn contrary to the default: once, or next to each use
  readonly hovered: Signal<string | undefined>;
  readonly sought: Signal<string | undefined>; // id of a box that must come into view, near enough to be read
  readonly focused: Signal<string | undefined>; // the same for a box with the keyboard's focus; if it is in sight, nothing moves
  readonly oneColumn: Signal<boolean>; // the data runs down in one column, however high that is
  readonly apart: Signal<boolean>; // norms and activations have boxes of their own, also if they only follow a layer
  readonly place: Signal<string | undefined>; // of the camera, for links; undefined: where it started
  readonly wantedPlace: Signal<string | undefined>; // that a link requests
  readonly refits: Signal<number>; // counts the changes after which the camera starts again
  readonly openGroups: ReadonlySignal<ReadonlySet<number>>;
  readonly visible: ReadonlySignal<VisibleGraph | undefined>;
}

export interface LookState {
  readonly dark: Signal<boolean>;
  readonly ramp: Signal<string>; // the colors of numbers, by id
  readonly scrollZooms: Signal<boolean>; // whether the wheel zooms the graph without Ctrl too
}

// How the step changes by itself.
export interface LiveState {
  readonly playing: Signal<boolean>;
  readonly follow: Signal<boolean>; // whether the last recorded step is shown, also when new ones arrive
  readonly unseen: Signal<number>; // steps that arrived since the last one was shown
  readonly unreachable: Signal<boolean>; // whether the server did not answer the last request
}

export function createStore(alone = false): Store {
  const recorded = createRecorded();
  const place = createPlace(recorded);
  const shown = createShown(recorded, place.half);
  return {
    alone,
    recorded,
    place,
    shown,
    graph: createGraph(recorded),
    look: { dark: signal(false), ramp: signal(""), scrollZooms: signal(false) },
    live: { playing: signal(false), follow: signal(false), unseen: signal(0), unreachable: signal(false) },
    findings: createFindings(),
    story: createStory(),
    compare: createCompare({ ...recorded, ...place, ...shown, half: place.half }),
  };
}

function createRecorded(): RecordedState {
  return {
    runs: signal<readonly Run[]>([]),
    hierarchy: signal<Hierarchy | undefined>(undefined),
    record: signal<RecordedStep | undefined>(undefined),
    beside: signal<RecordedStep | undefined>(undefined),
    magnitudes: signal<Magnitudes | undefined>(undefined),
    badSteps: signal<BadSteps>(new Map()),
  };
}

function createPlace({ runs }: RecordedState): PlaceState {
  const runName = signal<string | undefined>(undefined);
  const tagName = signal<string | undefined>(undefined);
  const recordIndex = signal(0);
  const run = computed(
    () => runs.value.find((one) => one.run === runName.value) ?? runs.value.find(({ tags }) => tags.length > 0) ?? runs.value[0],
  );
  const tag = computed(() => run.value?.tags.find((one) => one.tag === tagName.value) ?? run.value?.tags[0]);
  const ref = computed(() => {
    const records = tag.value?.records ?? [];
    return records[Math.min(recordIndex.value, records.length - 1)];
  });
  const direction = signal<Direction>("backward");
  const read = computed(() => (ref.value && direction.value === "forward" ? (valuesBeside(ref.value) ?? ref.value) : ref.value));
  return {
    direction,
    read,
    half: computed(() => halfOf(read.value?.stage)),
    runName,
    tagName,
    recordIndex,
    run,
    tag,
    ref,
    allSessions: signal(false),
    stage: signal(BACKWARD),
    awaited: signal<Address | undefined>(undefined),
    // A separate signal: most steps change the record but not the graph.
    hash: computed(() => ref.value?.hash),
  };
}

function createShown({ hierarchy, record }: RecordedState, half: ReadonlySignal<Half>): ShownState {
  const wanted = signal(DEFAULT_STATISTIC.id);
  const columns = computed(() => record.value?.statistics.join("\n") ?? "");
  const statistic = computed(
    () => statisticsFor(half.value, columns.value.split("\n").filter(Boolean)).find(({ id }) => id === wanted.value) ?? DEFAULT_STATISTIC,
  );
  const values = computed(() => {
    const [shown, numbers] = [hierarchy.value, record.value];
    // While a new graph loads, the old record belongs to another structure.
    if (shown === undefined || numbers === undefined || numbers.hash !== shown.graph.hash) return undefined;
    return numbers.rows === shown.graph.rows ? computeValues(shown, numbers, statistic.value) : undefined;
  });
  return {
    wanted,
    statistic,
    half: computed(() => halfOf(record.value?.stage)),
    values,
    phase: signal<Phase>({ kind: "loading" }),
    notice: signal<string | undefined>(undefined),
    view: signal<string | undefined>(undefined),
    selected: signal<string | undefined>(undefined),
    edge: signal<readonly number[] | undefined>(undefined),
  };
}

function createGraph({ hierarchy }: RecordedState): GraphState {
  const open = signal<ReadonlySet<string> | undefined>(undefined);
  const apart = signal(false);
  const openGroups = computed(() => groupNumbers(hierarchy.value, open.value));
  return {
    open,
    openGroups,
    turned: signal<ReadonlySet<string>>(new Set()),
    hovered: signal<string | undefined>(undefined),
    sought: signal<string | undefined>(undefined),
    focused: signal<string | undefined>(undefined),
    oneColumn: signal(false),
    apart,
    place: signal<string | undefined>(undefined),
    wantedPlace: signal<string | undefined>(undefined),
    refits: signal(0),
    visible: computed(() => hierarchy.value && showGraph(hierarchy.value, openGroups.value, !apart.value)),
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
  store.shown.wanted.value = id;
}
