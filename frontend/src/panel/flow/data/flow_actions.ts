// What the user can do to the heat map. The step and the row are the graph's step and selection.

import { batch, type ReadonlySignal } from "@preact/signals";
import { everyGroup, openedFor, rowShowing, START_ROWS, type FlowRow } from "../../../model/flow/flow_rows";
import { clampTop, EVERYTHING, fromPx, panSpan, scaleRows, zoomSpan, type Axis } from "../../../model/flow/flow_window";
import type { RowOrder } from "../../../model/flow/flow_order";
import { asItem, soleFrame, type Hierarchy } from "../../../model/tree/hierarchy";
import { openUpTo } from "../../../model/visible/opening";
import type { Sight } from "./flow_sight";
import { MOST_PINNED_ROWS, type FlowState } from "./flow_state";

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
  state.openedFirst.value = state.open.value;
}

export function openRowsAround(state: FlowState, id: string): void {
  const hierarchy = state.store.recorded.hierarchy.peek();
  if (hierarchy === undefined) return;
  const open = state.open.peek();
  if (open === undefined) return;
  const wider = openedFor(hierarchy, open, id);
  if (wider === open) return;
  // The link's selection opens these too.
  if (state.openedFirst.peek() === open) state.openedFirst.value = wider;
  state.open.value = wider;
}

// Opens or closes the rows of a group, which stays at its place on the screen.
export function toggleRows(state: FlowState, rows: readonly FlowRow[], id: string): void {
  const at = rows.findIndex((row) => row.id === id);
  if (rows[at]?.kind !== "group" || rows[at].isFlat) return;
  const open = new Set(state.open.peek());
  batch(() => {
    if (open.delete(id)) {
      // If the selected row was inside, it is gone, so the module is selected.
      const selected = state.store.shown.selected.peek();
      if (selected !== undefined && isInside(rows, at, selected)) state.store.shown.selected.value = id;
      // A header that stayed at the top is then the first row.
      const { top } = state.window.peek();
      if (at < top) state.window.value = { ...state.window.peek(), top: at };
    } else open.add(id);
    state.open.value = open;
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
    state.window.value = { ...state.window.peek(), top: 0 };
  });
}

export function closeAllRows(state: FlowState): void {
  const hierarchy = state.store.recorded.hierarchy.peek();
  if (hierarchy === undefined) return;
  // A single module around everything stays open, because a single row would show nothing.
  const only = soleFrame(hierarchy);
  batch(() => {
    state.open.value = new Set(only === undefined ? [] : [hierarchy.groups[only]!.id]);
    state.window.value = { ...state.window.peek(), top: 0 };
  });
}

export function moveRow(state: FlowState, rows: readonly FlowRow[], by: number): void {
  const hierarchy = state.store.recorded.hierarchy.peek();
  if (hierarchy === undefined || rows.length === 0) return;
  const at = rowShowing(hierarchy, rows, state.store.shown.selected.peek());
  const next = at === -1 ? (by > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, at + by));
  state.store.shown.selected.value = rows[next]!.id;
}

export function zoomColumns({ window }: FlowState, axis: Axis, factor: number, around: number): void {
  window.value = { ...window.peek(), columns: zoomSpan(axis, factor, around) };
}

export function panColumns({ window }: FlowState, axis: Axis, byPx: number): void {
  window.value = { ...window.peek(), columns: panSpan(axis, byPx / axis.unitPx) };
}

// Whole pixels, so that the edges of rows stay sharp.
export function scrollRows({ window }: FlowState, axis: Axis, byPx: number): void {
  const top = Math.round((axis.from * axis.unitPx + byPx) * devicePixelRatio) / devicePixelRatio / axis.unitPx;
  window.value = { ...window.peek(), top: clampTop(axis, top - axis.from) };
}

export function enlargeRows({ window }: FlowState, axis: Axis, factor: number, around: number): void {
  window.value = { ...window.peek(), ...scaleRows(axis, factor, around) };
}

export function showEverything({ window }: FlowState): void {
  window.value = { ...EVERYTHING, top: window.peek().top };
}

export function togglePin({ store, pins }: FlowState, id: string): void {
  const pinned = pins.peek();
  if (pinned.includes(id)) pins.value = pinned.filter((one) => one !== id);
  else if (pinned.length < MOST_PINNED_ROWS) pins.value = [...pinned, id];
  else store.shown.notice.value = `At most ${MOST_PINNED_ROWS} rows can be pinned.`;
}

export function scrollTo({ window }: FlowState, axis: Axis, top: number): void {
  window.value = { ...window.peek(), top: clampTop(axis, top - axis.from) };
}

export function sortRows({ order, window }: FlowState, chosen: RowOrder): void {
  batch(() => {
    order.value = chosen;
    window.value = { ...window.peek(), top: 0 };
  });
}

const ZOOM = 0.0016; // of the wheel
const LINE_PX = 33;

interface Wheeled {
  readonly state: FlowState;
  readonly sight: ReadonlySignal<Sight>;
}

// The wheel scrolls the rows, with Shift the steps; with Ctrl, as two fingers do, it zooms the steps.
// `aroundPx`: the place that does not move, on the map; undefined: the pointer is beside it.
export function turnWheel({ state, sight }: Wheeled, event: WheelEvent, aroundPx?: number): void {
  event.preventDefault();
  const { columns, rows } = sight.peek();
  const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PX : 1;
  const [dx, dy] = [event.deltaX * pixels, event.deltaY * pixels];
  if (event.ctrlKey || event.metaKey) {
    zoomColumns(state, columns, Math.exp(-dy * ZOOM), aroundPx === undefined ? (columns.from + columns.to) / 2 : fromPx(columns, aroundPx));
  } else if (event.shiftKey)
    panColumns(state, columns, dx || dy); // some browsers report it as horizontal
  else
    batch(() => {
      if (dx !== 0) panColumns(state, columns, dx);
      if (dy !== 0) scrollRows(state, rows, dy);
    });
}
