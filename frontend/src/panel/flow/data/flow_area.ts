// The chosen part of the heat map: by a drag, or by the keys at the cursor.

import { batch, effect, type ReadonlySignal } from "@preact/signals";
import type { Dispose } from "../../../base/disposer";
import type { Flow } from "../../../model/flow/flow";
import { rowShowing, type FlowRow } from "../../../model/flow/flow_rows";
import type { Selected } from "./flow_sight";
import type { Area, FlowState } from "./flow_state";

export function selectArea({ area, anchor }: FlowState, steps: readonly number[], rows: readonly FlowRow[], cells: Selected): void {
  const [first, last] = [rows[cells.rows[0]], rows[cells.rows[1] - 1]];
  const [from, to] = [steps[cells.columns[0]], steps[cells.columns[1] - 1]];
  if (first === undefined || last === undefined || from === undefined || to === undefined) return;
  batch(() => {
    anchor.value = undefined;
    area.value = { first: first.id, last: last.id, from, to };
  });
}

export function endArea({ area, anchor }: FlowState): void {
  batch(() => (area.value = anchor.value = undefined));
}

// The first time it begins at the cursor and follows it; then it stays; then it ends.
export function markArea(state: FlowState, id: string | undefined, step: number | undefined): void {
  if (state.anchor.peek() !== undefined) state.anchor.value = undefined;
  else if (state.area.peek() !== undefined) endArea(state);
  else if (id !== undefined && step !== undefined) state.anchor.value = { id, step };
}

export function followCursor(
  { area, anchor }: FlowState,
  rows: ReadonlySignal<readonly FlowRow[]>,
  row: ReadonlySignal<number>,
  step: () => number | undefined,
): Dispose {
  return effect(() => {
    const [begun, last, to] = [anchor.value, rows.value[row.value]?.id, step()];
    if (begun === undefined || last === undefined || to === undefined) return;
    area.value = { first: begun.id, last, from: Math.min(begun.step, to), to: Math.max(begun.step, to) };
  });
}

// If a row of the area is gone, it is the module around it.
export function cellsIn({ hierarchy, steps }: Flow, rows: readonly FlowRow[], area: Area | undefined): Selected | undefined {
  if (area === undefined) return undefined;
  const ends = [area.first, area.last].map((id) => rowShowing(hierarchy, rows, id)).sort((a, b) => a - b) as [number, number];
  const from = steps.findIndex((step) => step >= area.from);
  const to = steps.findLastIndex((step) => step <= area.to);
  return ends[0] === -1 || from === -1 || to < from ? undefined : { columns: [from, to + 1], rows: [ends[0], ends[1] + 1] };
}
