// One statistic of every node and group at every recorded step: computed once, then only read.

import { isIndices, type Graph } from "../recorded/graph";
import { BACKWARD } from "../recorded/run";
import type { Statistic } from "../recorded/statistics";
import type { Hierarchy } from "../tree/hierarchy";
import { combine, emptyValues, groupWord, State, type Values } from "../visible/values";
import { Arrived, FORWARD } from "../../base/vocabulary";
import { entityCount } from "./flow_rows";

// How many numbers are kept at most. If there are more, only every n-th step is kept.
export const MOST_CELLS = 8_000_000;

// The server's answer: one or more columns of the statistic, by record and slot.
export interface FlowNumbers {
  readonly steps: readonly number[];
  readonly slots: number;
  readonly values: readonly Float32Array[]; // each is [records, slots]; they are summed
  readonly arrived: Uint8Array; // [records, slots]: Arrived
}

export interface Flow extends Values {
  readonly hierarchy: Hierarchy;
  readonly statistic: Statistic;
  readonly stage: string;
  readonly steps: readonly number[]; // one column each
  readonly every: number; // only every n-th recorded step is a column
  readonly word: string; // how the number of a group is computed from its contents
  readonly shown: Uint8Array; // by entity: 0 if it has nothing to show at any step
  readonly leftOut: number; // operations that have no number at any step
  readonly atOpLevel: number; // those of them that level="op" would record
  // `value` and `state` have the shape [entities, steps]; flow_rows defines entities.
}

export function thinning(hierarchy: Hierarchy, steps: number): number {
  return Math.max(1, Math.ceil((entityCount(hierarchy) * steps) / MOST_CELLS));
}

type Numbers = Omit<Flow, "shown" | "leftOut" | "atOpLevel">;

export function computeFlow(hierarchy: Hierarchy, numbers: FlowNumbers, statistic: Statistic, stage: string, every: number): Flow {
  const { steps } = numbers;
  const { value, state } = emptyValues(entityCount(hierarchy) * steps.length);
  const flow: Numbers = { hierarchy, statistic, stage, steps, every, word: groupWord(statistic), value, state };
  fillNodes(flow, numbers);
  fillGroups(flow);
  return { ...flow, ...whatIsShown(flow) };
}

// Kinds that never have a gradient. They have a row only for values that count to their module.
const WITHOUT: ReadonlySet<string> = new Set(["constant", "buffer"]);

// A node is left out if it never had a gradient and the reason is unknown. In a run without any
// gradient all nodes are shown.
function whatIsShown(flow: Numbers): Pick<Flow, "shown" | "leftOut" | "atOpLevel"> {
  const { groups, itemGroup, graph } = flow.hierarchy;
  const { kind, reason } = graph.columns.nodes;
  const shown = new Uint8Array(entityCount(flow.hierarchy));
  const empty = flow.state.every((state) => state === State.none);
  const inner = innerOperations(graph);
  let [leftOut, innerLeftOut, innerThere] = [0, 0, false];
  for (let node = 0; node < graph.nodeCount; node++) {
    if (node >= graph.ownNodes) continue;
    if (WITHOUT.has(kind[node]!)) {
      if (arrives(flow, node) && !isIndices(graph, node)) shown[node] = 1;
      continue;
    }
    const isThere = arrives(flow, node);
    innerThere ||= isThere && inner[node] === 1;
    // At later stages only parameters are ever recorded. Of a value it is not known whether it will be.
    const expected = kind[node] === "parameter" || kind[node] === "leaf" || (kind[node] !== "input" && flow.stage === BACKWARD);
    if (empty || (expected && reason[node] !== "" && flow.stage !== FORWARD) || isThere) shown[node] = 1;
    else if (expected || (flow.stage === FORWARD && kind[node] === "operation")) {
      leftOut++;
      innerLeftOut += inner[node]!;
    }
  }
  for (let node = 0; node < graph.nodeCount; node++) {
    if (shown[node] === 1 && itemGroup[node] !== -1) shown[graph.nodeCount + itemGroup[node]!] = 1;
  }
  for (let group = groups.length - 1; group >= 0; group--) {
    const { parent } = groups[group]!;
    if (parent !== -1 && shown[graph.nodeCount + group] === 1) shown[graph.nodeCount + parent] = 1;
  }
  return { shown, leftOut, atOpLevel: innerThere ? 0 : innerLeftOut };
}

// Operations whose results are used only in the module that made them. A watch records them at
// level="op" alone; so if one of them has a number, the run has that level.
function innerOperations({ columns, edgeCount, edgeSource, edgeTarget, nodeCount }: Graph): Uint8Array {
  const { kind, scope } = columns.nodes;
  const inner = Uint8Array.from({ length: nodeCount }, (_, node) => Number(kind[node] === "operation"));
  for (let edge = 0; edge < edgeCount; edge++) {
    if (scope[edgeSource[edge]!] !== scope[edgeTarget[edge]!]) inner[edgeSource[edge]!] = 0;
  }
  return inner;
}

function arrives({ state, steps }: Numbers, entity: number): boolean {
  for (let at = entity * steps.length; at < (entity + 1) * steps.length; at++) if (state[at] !== State.none) return true;
  return false;
}

function fillNodes(flow: Numbers, { slots, values, arrived }: FlowNumbers): void {
  const { graph } = flow.hierarchy;
  const columns = flow.steps.length;
  for (let node = 0; node < graph.nodeCount; node++) {
    for (let slot = graph.slotOffset[node]!; slot < graph.slotOffset[node + 1]!; slot++) {
      for (let column = 0; column < columns; column++) {
        const at = column * slots + slot;
        if (arrived[at] === Arrived.none) continue;
        let value = 0;
        for (const part of values) value += part[at]!;
        combine(flow, node * columns + column, value, stateOf(value, arrived[at]!), flow.statistic);
      }
    }
  }
}

function stateOf(value: number, arrived: number): State {
  if (arrived === Arrived.nonfinite) return State.nonfinite;
  if (Number.isNaN(value)) return State.unknown;
  return value === 0 ? State.zero : State.number;
}

// Parents have lower numbers than their children. So in the order from last to first, the contents are always ready.
export function fillGroups(flow: Numbers): void {
  const { groups, countsTo, graph } = flow.hierarchy;
  for (let node = 0; node < graph.nodeCount; node++) {
    if (countsTo[node] !== -1) addRow(flow, node, graph.nodeCount + countsTo[node]!);
  }
  for (let group = groups.length - 1; group >= 0; group--) {
    const { parent } = groups[group]!;
    if (parent !== -1) addRow(flow, graph.nodeCount + group, graph.nodeCount + parent);
  }
}

function addRow(flow: Numbers, from: number, into: number): void {
  const columns = flow.steps.length;
  for (let column = 0; column < columns; column++) {
    const at = from * columns + column;
    combine(flow, into * columns + column, flow.value[at]!, flow.state[at]! as State, flow.statistic);
  }
}

export interface Cell {
  readonly value: number;
  readonly state: State;
}

export function cellAt(flow: Flow, entity: number, column: number): Cell | undefined {
  if (!(column >= 0 && column < flow.steps.length)) return undefined;
  const at = entity * flow.steps.length + column;
  return { value: flow.value[at]!, state: flow.state[at]! as State };
}
