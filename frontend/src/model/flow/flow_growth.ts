// Extends a heat map that grows: keeps the columns that are still valid, and appends new ones.

import type { RecordRef } from "../recorded/run";
import type { FlowNumbers } from "./flow";

// Columns before the first step whose records changed. Both lists are in order of their steps.
export function intactColumns(steps: readonly number[], before: readonly RecordRef[], now: readonly RecordRef[]): number {
  const differs = before.findIndex((record, i) => !isSame(record, now[i]));
  const at = differs === -1 ? before.length : differs;
  const first = Math.min(before[at]?.step ?? Infinity, now[at]?.step ?? Infinity);
  const column = steps.findIndex((step) => step >= first);
  return column === -1 ? steps.length : column;
}

function isSame(one: RecordRef, other: RecordRef | undefined): boolean {
  return (
    other !== undefined &&
    one.step === other.step &&
    one.stage === other.stage &&
    one.backwardPass === other.backwardPass &&
    one.wallTime === other.wallTime
  );
}

// The first `columns` columns of one, followed by all columns of the other.
export function joinColumns(first: FlowNumbers, columns: number, second: FlowNumbers): FlowNumbers {
  const { slots } = first;
  return {
    slots,
    steps: [...first.steps.slice(0, columns), ...second.steps],
    values: first.values.map((values, i) => {
      const joined = new Float32Array((columns + second.steps.length) * slots);
      joined.set(values.subarray(0, columns * slots));
      joined.set(second.values[i]!, columns * slots);
      return joined;
    }),
    arrived: join(first.arrived.subarray(0, columns * slots), second.arrived),
  };
}

function join(first: Uint8Array, second: Uint8Array): Uint8Array {
  const joined = new Uint8Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}
