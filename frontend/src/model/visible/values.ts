// One statistic at one step, for every row, node and group: computed once, then only read.

import type { RecordedStep } from "../recorded/record";
import type { Statistic } from "../recorded/statistics";
import type { Hierarchy } from "../tree/hierarchy";
import { NONFINITE } from "../../base/vocabulary";

// Ordered by priority when several are summarized, so that a NaN is never hidden.
export const State = { none: 0, unknown: 1, zero: 2, number: 3, nonfinite: 4 } as const;
export type State = (typeof State)[keyof typeof State];

// none: no gradient arrived. unknown: a gradient arrived, but the statistic does not
// exist (std of one element). nonfinite: elements are NaN or infinite; `value`
// is then still the statistic of the finite ones, NaN if there are none.
export interface Values {
  readonly value: Float32Array;
  readonly state: Uint8Array;
}

export interface StepValues {
  readonly rows: Values;
  readonly nodes: Values;
  readonly groups: Values;
  readonly groupWord: string; // how the number of a group is computed from its contents
}

export function computeValues(hierarchy: Hierarchy, record: RecordedStep, statistic: Statistic): StepValues {
  const rows = rowValues(record, statistic);
  const { slotOffset, nodeCount } = hierarchy.graph;
  const nodes = emptyValues(nodeCount);
  for (let node = 0; node < nodeCount; node++) {
    for (let row = slotOffset[node]!; row < slotOffset[node + 1]!; row++) {
      combine(nodes, node, rows.value[row]!, rows.state[row]! as State, statistic);
    }
  }
  return { rows, nodes, groups: groupValues(hierarchy, nodes, statistic), groupWord: groupWord(statistic) };
}

// Of signed numbers, the one with the greatest magnitude, which may be the least number.
export function groupWord({ summary, signed }: Statistic): string {
  if (summary === "sum") return "sum";
  return signed ? "up to" : "max";
}

function rowValues(record: RecordedStep, statistic: Statistic): Values {
  const { rows, present } = record;
  const result = emptyValues(rows);
  const columns = statistic.columns.flatMap((name) => columnOf(record, name));
  const bad = NONFINITE.flatMap((name) => columnOf(record, name));
  const [column] = columns;
  for (let row = 0; row < rows; row++) {
    if (present[row] !== 1 || column === undefined) continue;
    let value = column[row]!;
    for (let i = 1; i < columns.length; i++) value += columns[i]![row]!;
    result.value[row] = value;
    if (positiveAt(bad, row)) result.state[row] = State.nonfinite;
    else if (Number.isNaN(value)) result.state[row] = State.unknown;
    else result.state[row] = value === 0 ? State.zero : State.number;
  }
  return result;
}

function positiveAt(columns: readonly Float32Array[], row: number): boolean {
  for (const column of columns) if (column[row]! > 0) return true;
  return false;
}

function columnOf(record: RecordedStep, name: string): Float32Array[] {
  const column = record.statistics.indexOf(name);
  return column === -1 ? [] : [record.values.subarray(column * record.rows, (column + 1) * record.rows)];
}

export function groupValues(hierarchy: Hierarchy, nodes: Values, statistic: Statistic): Values {
  const { groups, countsTo, graph } = hierarchy;
  const result = emptyValues(groups.length);
  for (let node = 0; node < graph.nodeCount; node++) {
    const group = countsTo[node]!;
    if (group !== -1) combine(result, group, nodes.value[node]!, nodes.state[node]! as State, statistic);
  }
  for (let group = groups.length - 1; group >= 0; group--) {
    const { parent } = groups[group]!;
    if (parent !== -1) combine(result, parent, result.value[group]!, result.state[group]! as State, statistic);
  }
  return result;
}

export function emptyValues(length: number): Values {
  return { value: new Float32Array(length).fill(NaN), state: new Uint8Array(length) };
}

export function combine(into: Values, at: number, value: number, state: State, statistic: Statistic): void {
  if (state > into.state[at]!) into.state[at] = state;
  const known = into.value[at]!;
  if (Number.isNaN(value)) return;
  if (Number.isNaN(known)) into.value[at] = value;
  else if (statistic.summary === "sum") into.value[at] = known + value;
  else if (Math.abs(value) > Math.abs(known)) into.value[at] = value;
}

// The same for a few rows, such as edges that were merged into one line.
export function summarizeRows(rows: Values, indices: readonly number[], statistic: Statistic): { value: number; state: State } {
  if (indices.length === 1) return { value: rows.value[indices[0]!]!, state: rows.state[indices[0]!]! as State };
  const one = emptyValues(1);
  for (const row of indices) combine(one, 0, rows.value[row]!, rows.state[row]! as State, statistic);
  return { value: one.value[0]!, state: one.state[0]! as State };
}
