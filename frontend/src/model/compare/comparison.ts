// Compares two records: which nodes correspond, and the ratio of their numbers. "Here" is the shown
// record, and "there" is the other one.

import { edgesIn, type Graph } from "../recorded/graph";
import { halfOf, type RecordedStep } from "../recorded/record";
import type { Statistic } from "../recorded/statistics";
import type { Hierarchy } from "../tree/hierarchy";
import type { VisibleEdge } from "../visible/collapse";
import { rowsOfHalf } from "../visible/line_rows";
import { groupsAround } from "../visible/opening";
import { cellValues, type Strip } from "../visible/strip";
import { combine, emptyValues, groupValues, State, summarizeRows, type StepValues, type Values } from "../visible/values";

// For each node, group, row and edge here, its counterpart there; -1: none.
export interface Joined {
  readonly nodes: Int32Array;
  readonly groups: Int32Array;
  readonly rows: Int32Array;
  readonly edges: Int32Array;
  readonly ownNodes: number; // nodes after these exist only there
  readonly onlyHere: number; // how many nodes
  readonly onlyThere: readonly number[]; // nodes of the other graph
  readonly missing: Int32Array; // by group here: how many of its nodes exist only there
  readonly ghosts: Uint8Array; // by group here: 1 if all its contents exist only there
}

// Matched by key, because the numbers of nodes differ if the structures differ.
export function joinGraphs(here: Hierarchy, there: Hierarchy): Joined {
  const nodes = matched(here.graph.columns.nodes.key, there.graph.columns.nodes.key);
  const groups = matched(
    here.groups.map(({ id }) => id),
    there.groups.map(({ id }) => id),
  );
  const edges = matchEdges(here.graph, there.graph, nodes);
  const known = new Set(nodes.subarray(0, here.graph.ownNodes));
  const onlyThere = Array.from({ length: there.graph.nodeCount }, (_, node) => node).filter((node) => !known.has(node));
  return {
    nodes,
    groups,
    edges,
    onlyThere,
    ownNodes: here.graph.ownNodes,
    rows: matchRows(here.graph, there.graph, nodes, edges),
    onlyHere: nodes.reduce((sum, node) => sum + (node === -1 ? 1 : 0), 0),
    missing: countMissing(here, there, onlyThere),
    ghosts: ghostGroups(here),
  };
}

function matched(here: readonly string[], there: readonly string[]): Int32Array {
  const numbers = new Map<string, number>();
  there.forEach((key, number) => numbers.set(key, number));
  return Int32Array.from(here, (key) => numbers.get(key) ?? -1);
}

// The edge between the same two nodes, from the same output to the same input.
function matchEdges(here: Graph, there: Graph, nodes: Int32Array): Int32Array {
  const [own, others] = [here.columns.edges, there.columns.edges];
  return Int32Array.from({ length: here.edgeCount }, (_, edge) => {
    const [source, target] = [nodes[here.edgeSource[edge]!]!, nodes[here.edgeTarget[edge]!]!];
    if (source === -1 || target === -1) return -1;
    const found = edgesIn(there, target).find(
      (other) =>
        there.edgeSource[other] === source &&
        others.source_slot[other] === own.source_slot[edge] &&
        others.target_input[other] === own.target_input[edge],
    );
    return found ?? -1;
  });
}

function matchRows(here: Graph, there: Graph, nodes: Int32Array, edges: Int32Array): Int32Array {
  const rows = new Int32Array(here.rows).fill(-1);
  nodes.forEach((other, node) => {
    if (other === -1) return;
    const slots = Math.min(slotsOf(here, node), slotsOf(there, other));
    for (let slot = 0; slot < slots; slot++) rows[here.slotOffset[node]! + slot] = there.slotOffset[other]! + slot;
  });
  edges.forEach((other, edge) => {
    const row = here.edgeRow[edge]!;
    if (other !== -1 && row >= here.slotCount) rows[row] = there.edgeRow[other]!;
  });
  return rows;
}

function slotsOf({ slotOffset }: Graph, node: number): number {
  return slotOffset[node + 1]! - slotOffset[node]!;
}

function countMissing(here: Hierarchy, there: Hierarchy, onlyThere: readonly number[]): Int32Array {
  const missing = new Int32Array(here.groups.length);
  for (const node of onlyThere) {
    const around = groupsAround(there, there.itemGroup[node]!).map((group) => here.groupOf.get(there.groups[group]!.id));
    const inner = around.find((group) => group !== undefined);
    if (inner !== undefined) for (const group of groupsAround(here, inner)) missing[group]!++;
  }
  return missing;
}

function ghostGroups({ graph, groups, itemGroup }: Hierarchy): Uint8Array {
  const ghosts = new Uint8Array(groups.length).fill(graph.joint === "" ? 0 : 1);
  for (let node = 0; node < graph.ownNodes; node++) {
    for (let group = itemGroup[node]!; group !== -1 && ghosts[group] === 1; group = groups[group]!.parent) ghosts[group] = 0;
  }
  return ghosts;
}

// Checked in this order. A node that only the other record has is not a node here; the caller handles it.
export const Relation = { none: 0, onlyHere: 1, numberHere: 2, numberThere: 3, nonfinite: 4, unknown: 5, both: 6, onlyThere: 7 } as const;
export type Relation = (typeof Relation)[keyof typeof Relation];

export interface Related {
  readonly relation: Relation;
  readonly here: number;
  readonly there: number;
  readonly log2: number; // log2 of here / there, by magnitude; infinite if one is zero, NaN if there is no ratio
}

interface One {
  readonly value: number;
  readonly state: State;
}

const NOTHING: One = { value: NaN, state: State.none };

// `there` is undefined if the other graph has no such thing.
export function relate(here: One, there: One | undefined): Related {
  const other = there ?? NOTHING;
  const relation = relationOf(here.state, there?.state);
  const log2 = relation === Relation.both ? logRatio(Math.abs(here.value), Math.abs(other.value)) : NaN;
  return { relation, here: here.value, there: other.value, log2 };
}

export function relationOf(here: State, there: State | undefined): Relation {
  if (there === undefined) return Relation.onlyHere;
  if (here === State.none) return there === State.none ? Relation.none : Relation.numberThere;
  if (there === State.none) return Relation.numberHere;
  if (here === State.nonfinite || there === State.nonfinite) return Relation.nonfinite;
  return here === State.unknown || there === State.unknown ? Relation.unknown : Relation.both;
}

export function logRatio(here: number, there: number): number {
  if (here === there) return 0;
  return here === 0 ? -Infinity : there === 0 ? Infinity : Math.log2(here) - Math.log2(there);
}

export interface Comparison {
  readonly joined: Joined;
  readonly statistic: Statistic;
  readonly here: StepValues;
  readonly record: RecordedStep; // there
  readonly hierarchy: Hierarchy; // there
  readonly there: StepValues; // by nodes, groups and rows there
  readonly nodes: Values; // there, by node here
  readonly groups: Values; // there, by group here
}

// The number of a module there covers all its contents there, so that closed modules are compared as they are shown.
export function compare(
  shown: Hierarchy,
  here: StepValues,
  { hierarchy, record }: Pick<Comparison, "hierarchy" | "record">,
  there: StepValues,
  joined: Joined,
  statistic: Statistic,
): Comparison {
  const nodes = emptyValues(shown.graph.nodeCount);
  joined.nodes.forEach((other, node) => {
    if (other !== -1) combine(nodes, node, there.nodes.value[other]!, there.nodes.state[other]! as State, statistic);
  });
  const groups = groupValues(shown, nodes, statistic);
  joined.groups.forEach((other, group) => {
    if (other === -1) return;
    groups.value[group] = there.groups.value[other]!;
    groups.state[group] = there.groups.state[other]!;
  });
  return { joined, statistic, here, record, hierarchy, there, nodes, groups };
}

function oneOf({ value, state }: Values, at: number): One {
  return { value: value[at]!, state: state[at]! as State };
}

function onlyThere({ value }: One): Related {
  return { relation: Relation.onlyThere, here: NaN, there: value, log2: NaN };
}

export function relateNode({ joined, here, nodes }: Comparison, node: number): Related {
  if (node >= joined.ownNodes) return onlyThere(oneOf(nodes, node));
  return relate(oneOf(here.nodes, node), joined.nodes[node] === -1 ? undefined : oneOf(nodes, node));
}

// If a fold has different boundaries there, the nodes that both have are compared.
export function relateGroup({ joined, here, groups }: Comparison, group: number): Related {
  const there = oneOf(groups, group);
  if (joined.ghosts[group] === 1) return onlyThere(there);
  return relate(oneOf(here.groups, group), joined.groups[group] === -1 && there.state === State.none ? undefined : there);
}

// Rows that are drawn as one line. Each side has its own rows.
export function relateLine(comparison: Comparison, graph: Graph, line: VisibleEdge): Related {
  const { joined, here, there, hierarchy, statistic, record } = comparison;
  const half = halfOf(record.stage);
  const one = summarizeRows(
    here.rows,
    rowsOfHalf(graph, line, half, (row) => here.rows.state[row] !== State.none),
    statistic,
  );
  const ghost = line.edges.every((edge) => edge >= graph.ownEdges);
  const edges = line.edges.flatMap((edge) => (joined.edges[edge] === -1 ? [] : [joined.edges[edge]!]));
  if (edges.length === 0) return relate(one, undefined);
  const rows = rowsOfHalf(hierarchy.graph, { ...line, edges }, half, (row) => there.rows.state[row] !== State.none);
  const other = summarizeRows(there.rows, rows, statistic);
  return ghost ? onlyThere(other) : relate(one, other);
}

// The cells of a closed run of equal blocks.
export function relateCells(
  hierarchy: Hierarchy,
  { here, there, nodes, groups, statistic }: Comparison,
  strip: Strip,
  cells: number,
): readonly Related[] {
  const [one, other] = [here, { ...there, nodes, groups }].map((values) => cellValues(hierarchy, strip, cells, values, statistic));
  return Array.from({ length: cells }, (_, cell) => relate(oneOf(one!, cell), oneOf(other!, cell)));
}
