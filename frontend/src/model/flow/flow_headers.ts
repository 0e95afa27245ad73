// The headers of open groups that stay at the top while the rows inside them are scrolled.

import type { FlowRow } from "./flow_rows";
import type { Axis } from "./flow_window";

// Where each row stands among the open groups.
export interface Nesting {
  readonly parent: Int32Array; // the row of the open group around it; -1: none
  readonly end: Int32Array; // the row after the last one inside it
}

export interface Header {
  readonly row: number;
  readonly topPx: number; // below the top of the rows
}

// At most this part of the height is headers.
const MOST_OF_HEIGHT = 1 / 3;

export function nestingOf(rows: readonly FlowRow[]): Nesting {
  const [parent, end] = [new Int32Array(rows.length).fill(-1), new Int32Array(rows.length)];
  const around: number[] = [];
  rows.forEach((row, at) => {
    while (around.length > row.depth) end[around.pop()!] = at;
    parent[at] = around.at(-1) ?? -1;
    end[at] = at + 1;
    if (row.open) around.push(at);
  });
  for (const at of around) end[at] = rows.length;
  return { parent, end };
}

// The open groups around a row, outermost first.
export function groupsAround({ parent }: Nesting, row: number): readonly number[] {
  const path: number[] = [];
  for (let at = parent[row] ?? -1; at !== -1; at = parent[at]!) path.unshift(at);
  return path;
}

export function mostHeaders(axis: Axis): number {
  return Math.max(1, Math.floor((axis.to - axis.from) * MOST_OF_HEIGHT));
}

// Outermost first. A header whose group ends is pushed out by what follows.
export function headersAt(rows: readonly FlowRow[], nesting: Nesting, axis: Axis): readonly Header[] {
  const headers: Header[] = [];
  for (let place = 0; place < mostHeaders(axis); place++) {
    const under = Math.floor(axis.from + place + 1e-6);
    if (under >= rows.length) break;
    const path = [...groupsAround(nesting, under), ...(rows[under]!.open ? [under] : [])];
    const row = path[place];
    if (row === undefined || row >= axis.from + place - 1e-6) break;
    headers.push({ row, topPx: Math.min(place, nesting.end[row]! - 1 - axis.from) * axis.unitPx });
  }
  return headers;
}

// The pixels that headers cover at the top.
export function coveredPx(headers: readonly Header[], unitPx: number): number {
  return headers.reduce((most, { topPx }) => Math.max(most, topPx + unitPx), 0);
}
