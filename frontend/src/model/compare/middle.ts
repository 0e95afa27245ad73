// The numbers of several runs as one: their median, with the least and the greatest.

import { medianOf } from "../../base/median";
import { emptyValues, State, type Values } from "../visible/values";

export interface Middle extends Values {
  readonly low: Float32Array; // NaN where no run has a number
  readonly high: Float32Array;
}

export type Range = readonly [low: number, high: number];

// One number, of one run or of several.
export interface One {
  readonly value: number;
  readonly state: State;
  readonly range?: Range | undefined; // of the numbers of several runs
}

// At each place the runs count that have a finite number there. One run alone has no range.
export function middleOf(all: readonly Values[]): Values | Middle {
  if (all.length === 1) return all[0]!;
  const { length } = all[0]!.state;
  const made: Middle = { ...emptyValues(length), low: new Float32Array(length).fill(NaN), high: new Float32Array(length).fill(NaN) };
  const numbers = new Float32Array(all.length);
  for (let at = 0; at < length; at++) {
    let [count, state]: [number, State] = [0, State.none];
    for (const { value, state: states } of all) {
      const one = states[at] as State;
      if (hasNumber(one)) numbers[count++] = value[at]!;
      else if (one > state) state = one;
    }
    if (count === 0) made.state[at] = state;
    else {
      const sorted = numbers.subarray(0, count).sort();
      made.value[at] = medianOf(sorted);
      made.state[at] = made.value[at] === 0 ? State.zero : State.number;
      [made.low[at], made.high[at]] = [sorted[0]!, sorted[count - 1]!];
    }
  }
  return made;
}

export function oneAt(values: Values | Middle, at: number): One {
  const one = { value: values.value[at]!, state: values.state[at]! as State };
  return "low" in values && !Number.isNaN(values.low[at]!) ? { ...one, range: [values.low[at]!, values.high[at]!] } : one;
}

// The same for one place.
export function middleOne(all: readonly One[]): One {
  const values = all.map(({ value, state }) => ({ value: Float32Array.of(value), state: Uint8Array.of(state) }));
  return oneAt(middleOf(values), 0);
}

function hasNumber(state: State): boolean {
  return state === State.number || state === State.zero;
}

// 1: above all of them; -1: below all of them; 0: between them, or there is no range.
export function beyond(value: number, range: Range | undefined): -1 | 0 | 1 {
  if (range === undefined) return 0;
  return value > range[1] ? 1 : value < range[0] ? -1 : 0;
}
