// What the user can do to the heat map. The step and the row are the graph's step and selection.

import { batch, signal, type Signal } from "@preact/signals";
import { everyGroup, openedFor, rowShowing, START_ROWS, type FlowRow } from "../../model/flow/flow_rows";
import { EVERYTHING, LABEL_PX, zoomSpan, type Axis, type FlowWindow } from "../../model/flow/flow_window";
import { asItem, soleFrame, type Hierarchy } from "../../model/tree/hierarchy";
import { openUpTo } from "../../model/visible/opening";
import type { Store } from "../../state/store";

export interface FlowState {
  readonly store: Store;
  readonly open: Signal<ReadonlySet<string> | undefined>; // ids of groups whose rows are shown; undefined: not chosen yet
  readonly window: Signal<FlowWindow>; // the part that is in sight
  readonly scalarTag: Signal<string | undefined>; // the line above it: a scalar's tag, or a quantity; undefined: the loss, if one is found
}

export function createFlowState(store: Store): FlowState {
  return {
    store,
    open: signal<ReadonlySet<string> | undefined>(undefined),
    window: signal<FlowWindow>(EVERYTHING),
    scalarTag: signal<string | undefined>(undefined),
  };
}

// Opens as many groups as stay readable, unless groups of this graph are open already.
export function openAtFirst(state: FlowState, hierarchy: Hierarchy, shown: Uint8Array): void {
  const open = state.open.peek();
  if (open !== undefined && (open.size === 0 || [...open].some((id) => hierarchy.groupOf.has(id)))) return;
  const { graph, groups, itemNode } = hierarchy;
  const weigh = (child: number): number => {
    if (child >= 0 && groups[child]!.kind === "chain") return groups[child]!.children.reduce((count, inner) => count + weigh(inner), 0);
    if (child >= 0) return shown[graph.nodeCount + child]!;
    const node = itemNode[asItem(child)]!;
    return node === asItem(child) ? shown[node]! : 0;
  };
  state.open.value = new Set([...openUpTo(hierarchy, START_ROWS, { weigh })].map((group) => groups[group]!.id));
  const selected = state.store.shown.selected.peek();
  if (selected !== undefined) openRowsAround(state, selected);
}

export function openRowsAround(state: FlowState, id: string): void {
  const hierarchy = state.store.recorded.hierarchy.peek();
  if (hierarchy === undefined) return;
  const open = state.open.peek();
  if (open === undefined) return;
  const wider = openedFor(hierarchy, open, id);
  if (wider !== open) state.open.value = wider;
}

// Opens or closes the rows of a group. The group stays at its place on the screen, and its rows are
// high enough to read.
export function toggleRows(state: FlowState, rows: readonly FlowRow[], axis: Axis, id: string): void {
  const hierarchy = state.store.recorded.hierarchy.peek();
  const at = rows.findIndex((row) => row.id === id);
  if (hierarchy === undefined || rows[at]?.kind !== "group") return;
  const open = new Set(state.open.peek());
  batch(() => {
    if (open.delete(id)) {
      // If the selected row was inside, it is gone, so the module is selected.
      state.open.value = open;
      const selected = state.store.shown.selected.peek();
      if (selected !== undefined && isInside(rows, at, selected)) state.store.shown.selected.value = id;
    } else {
      state.open.value = open.add(id);
      const few = ((axis.to - axis.from) * axis.unitPx) / LABEL_PX;
      if (axis.unitPx < LABEL_PX) state.window.value = { ...state.window.peek(), rows: [at, at + few] };
    }
  });
}

function isInside(rows: readonly FlowRow[], at: number, id: string): boolean {
  const end = rows.findIndex((row, i) => i > at && row.depth <= rows[at]!.depth);
  return rows.slice(at + 1, end === -1 ? rows.length : end).some((row) => row.id === id);
}

export function openAllRows(state: FlowState): void {
  const hierarchy = state.store.recorded.hierarchy.peek();
  if (hierarchy === undefined) return;
  batch(() => {
    state.open.value = everyGroup(hierarchy);
    state.window.value = { ...state.window.peek(), rows: undefined };
  });
}

export function closeAllRows(state: FlowState): void {
  const hierarchy = state.store.recorded.hierarchy.peek();
  if (hierarchy === undefined) return;
  // A single module around everything stays open, because a single row would show nothing.
  const only = soleFrame(hierarchy);
  batch(() => {
    state.open.value = new Set(only === undefined ? [] : [hierarchy.groups[only]!.id]);
    state.window.value = { ...state.window.peek(), rows: undefined };
  });
}

export function moveRow(state: FlowState, rows: readonly FlowRow[], by: number): void {
  const hierarchy = state.store.recorded.hierarchy.peek();
  if (hierarchy === undefined || rows.length === 0) return;
  const at = rowShowing(hierarchy, rows, state.store.shown.selected.peek());
  const next = at === -1 ? (by > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, at + by));
  state.store.shown.selected.value = rows[next]!.id;
}

export function zoomColumns(state: FlowState, axis: Axis, factor: number, around: number): void {
  state.window.value = { ...state.window.peek(), columns: zoomSpan(axis, factor, around) };
}

export function zoomRows(state: FlowState, axis: Axis, factor: number, around: number): void {
  state.window.value = { ...state.window.peek(), rows: zoomSpan(axis, factor, around) };
}

export function showEverything(state: FlowState): void {
  state.window.value = EVERYTHING;
}
