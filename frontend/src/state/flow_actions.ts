// What the user can do to the heat map. The step and the row are the graph's step and selection.

import { batch } from "@preact/signals";
import { everyGroup, openedFor, rowShowing, START_ROWS, type FlowRow } from "../model/flow/flow_rows";
import { EVERYTHING, LABEL_PX, zoomSpan, type Axis } from "../model/flow/flow_window";
import { asItem, soleFrame, type Hierarchy } from "../model/tree/hierarchy";
import { openUpTo } from "../model/visible/opening";
import { reveal } from "./actions";
import type { View } from "./address";
import type { Store } from "./store";

export function showView(store: Store, view: View): void {
  batch(() => {
    store.view.value = view;
    const selected = store.selected.peek();
    if (selected === undefined) return;
    if (view === "graph") reveal(store, selected);
    else if (view === "flow") openRowsAround(store, selected);
  });
}

// Opens as much as leaves the rows readable, unless groups of this graph are open already.
export function openAtFirst(store: Store, hierarchy: Hierarchy, shown: Uint8Array): void {
  const open = store.flowOpen.peek();
  if (open !== undefined && (open.size === 0 || [...open].some((id) => hierarchy.groupOf.has(id)))) return;
  const { graph, groups, itemNode } = hierarchy;
  const weigh = (child: number): number => {
    if (child >= 0 && groups[child]!.kind === "chain") return groups[child]!.children.reduce((count, inner) => count + weigh(inner), 0);
    if (child >= 0) return shown[graph.nodeCount + child]!;
    const node = itemNode[asItem(child)]!;
    return node === asItem(child) ? shown[node]! : 0;
  };
  store.flowOpen.value = new Set([...openUpTo(hierarchy, START_ROWS, { weigh })].map((group) => groups[group]!.id));
  const selected = store.selected.peek();
  if (selected !== undefined) openRowsAround(store, selected);
}

export function openRowsAround(store: Store, id: string): void {
  const hierarchy = store.hierarchy.peek();
  if (hierarchy === undefined) return;
  const open = store.flowOpen.peek();
  if (open === undefined) return;
  const wider = openedFor(hierarchy, open, id);
  if (wider !== open) store.flowOpen.value = wider;
}

// Opens or closes the rows of a group. It stays where it is on the screen, with rows high enough to read.
export function toggleRows(store: Store, rows: readonly FlowRow[], axis: Axis, id: string): void {
  const hierarchy = store.hierarchy.peek();
  const at = rows.findIndex((row) => row.id === id);
  if (hierarchy === undefined || rows[at]?.kind !== "group") return;
  const open = new Set(store.flowOpen.peek());
  batch(() => {
    if (open.delete(id)) {
      // What was chosen inside is no longer there: then the module is.
      store.flowOpen.value = open;
      const selected = store.selected.peek();
      if (selected !== undefined && isInside(rows, at, selected)) store.selected.value = id;
    } else {
      store.flowOpen.value = open.add(id);
      const few = (axis.to - axis.from) * axis.unitPx / LABEL_PX;
      if (axis.unitPx < LABEL_PX) store.flowWindow.value = { ...store.flowWindow.peek(), rows: [at, at + few] };
    }
  });
}

function isInside(rows: readonly FlowRow[], at: number, id: string): boolean {
  const end = rows.findIndex((row, i) => i > at && row.depth <= rows[at]!.depth);
  return rows.slice(at + 1, end === -1 ? rows.length : end).some((row) => row.id === id);
}

export function openAllRows(store: Store): void {
  const hierarchy = store.hierarchy.peek();
  if (hierarchy === undefined) return;
  batch(() => {
    store.flowOpen.value = everyGroup(hierarchy);
    store.flowWindow.value = { ...store.flowWindow.peek(), rows: undefined };
  });
}

export function closeAllRows(store: Store): void {
  const hierarchy = store.hierarchy.peek();
  if (hierarchy === undefined) return;
  // A single module around everything stays open: one row is no picture.
  const only = soleFrame(hierarchy);
  batch(() => {
    store.flowOpen.value = new Set(only === undefined ? [] : [hierarchy.groups[only]!.id]);
    store.flowWindow.value = { ...store.flowWindow.peek(), rows: undefined };
  });
}

export function moveRow(store: Store, rows: readonly FlowRow[], by: number): void {
  const hierarchy = store.hierarchy.peek();
  if (hierarchy === undefined || rows.length === 0) return;
  const at = rowShowing(hierarchy, rows, store.selected.peek());
  const next = at === -1 ? (by > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, at + by));
  store.selected.value = rows[next]!.id;
}

export function zoomColumns(store: Store, axis: Axis, factor: number, around: number): void {
  store.flowWindow.value = { ...store.flowWindow.peek(), columns: zoomSpan(axis, factor, around) };
}

export function zoomRows(store: Store, axis: Axis, factor: number, around: number): void {
  store.flowWindow.value = { ...store.flowWindow.peek(), rows: zoomSpan(axis, factor, around) };
}

export function showEverything(store: Store): void {
  store.flowWindow.value = EVERYTHING;
}
