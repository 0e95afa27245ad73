// Compares the shown record with another one, or with those of several runs: the ratio of their numbers. "Here" is
// the shown record, and "there" is the other one, or the median of several.

import type { Graph } from "../recorded/graph";
import { halfOf, type RecordedStep } from "../recorded/record";
import type { Statistic } from "../recorded/statistics";
import type { Hierarchy } from "../tree/hierarchy";
import type { VisibleEdge } from "../visible/collapse";
import { rowsOfHalf } from "../visible/line_rows";
import { cellValues, type Strip } from "../visible/strip";
import { combine, emptyValues, groupValues, State, summarizeRows, type StepValues, type Values } from "../visible/values";
import type { Joined } from "./joined";
import { middleOf, middleOne, oneAt, type One, type Range } from "./middle";

// Checked in this order. A node that only the other record has is not a node here; the caller handles it.
export const Relation = { none: 0, onlyHere: 1, numberHere: 2, numberThere: 3, nonfinite: 4, unknown: 5, both: 6, onlyThere: 7 } as const;
export type Relation = (typeof Relation)[keyof typeof Relation];

export interface Related {
  readonly relation: Relation;
  readonly here: number;
  readonly there: number;
  readonly log2: number; // log2 of here / there, by magnitude; infinite if one is zero, NaN if there is no ratio
  readonly range?: Range | undefined; // there, of several runs
}

const NOTHING: One = { value: NaN, state: State.none };

// `there` is undefined if the other graph has no such thing.
export function relate(here: One, there: One | undefined): Related {
  const other = there ?? NOTHING;
  const relation = relationOf(here.state, there?.state);
  const log2 = relation === Relation.both ? logRatio(Math.abs(here.value), Math.abs(other.value)) : NaN;
  return { relation, here: here.value, there: other.value, log2, range: other.range };
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

// One of the records that are compared with.
export interface Side {
  readonly hierarchy: Hierarchy;
  readonly record: RecordedStep;
  readonly joined: Joined; // from here to there
  readonly values: StepValues; // by nodes, groups and rows there
}

// Nodes and groups of a side, by those here.
type Across = Pick<StepValues, "nodes" | "groups">;

// What concerns one graph there, as which nodes only it has, is told of the first side.
export interface Comparison {
  readonly statistic: Statistic;
  readonly here: StepValues;
  readonly sides: readonly Side[]; // one, or those of several runs
  readonly first: Side;
  readonly across: readonly Across[]; // by side
  readonly nodes: Values; // there, by node here
  readonly groups: Values; // there, by group here
}

export function compare(shown: Hierarchy, here: StepValues, sides: readonly [Side, ...Side[]], statistic: Statistic): Comparison {
  const across = sides.map((side) => acrossTo(shown, side, statistic));
  return {
    statistic,
    here,
    sides,
    first: sides[0],
    across,
    nodes: middleOf(across.map(({ nodes }) => nodes)),
    groups: middleOf(across.map(({ groups }) => groups)),
  };
}

// The number of a module there covers all its contents there, so that closed modules are compared as they are shown.
function acrossTo(shown: Hierarchy, { joined, values: there }: Side, statistic: Statistic): Across {
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
  return { nodes, groups };
}

function onlyThere({ value }: One): Related {
  return { relation: Relation.onlyThere, here: NaN, there: value, log2: NaN };
}

export function relateNode({ first: { joined }, here, nodes }: Comparison, node: number): Related {
  const there = oneAt(nodes, node);
  if (node >= joined.ownNodes) return onlyThere(there);
  return relate(oneAt(here.nodes, node), joined.nodes[node] === -1 && there.state === State.none ? undefined : there);
}

// If a fold has different boundaries there, the nodes that both have are compared.
export function relateGroup({ first: { joined }, here, groups }: Comparison, group: number): Related {
  const there = oneAt(groups, group);
  if (joined.ghosts[group] === 1) return onlyThere(there);
  return relate(oneAt(here.groups, group), joined.groups[group] === -1 && there.state === State.none ? undefined : there);
}

// Rows that are drawn as one line. Each side has its own rows.
export function relateLine({ here, sides, statistic, first }: Comparison, graph: Graph, line: VisibleEdge): Related {
  const half = halfOf(first.record.stage);
  const one = summarizeRows(
    here.rows,
    rowsOfHalf(graph, line, half, (row) => here.rows.state[row] !== State.none),
    statistic,
  );
  const others = sides.flatMap((side) => {
    const edges = line.edges.flatMap((edge) => (side.joined.edges[edge] === -1 ? [] : [side.joined.edges[edge]!]));
    if (edges.length === 0) return [];
    const { rows } = side.values;
    const found = rowsOfHalf(side.hierarchy.graph, { ...line, edges }, half, (row) => rows.state[row] !== State.none);
    return [summarizeRows(rows, found, statistic)];
  });
  if (others.length === 0) return relate(one, undefined);
  const there = middleOne(others);
  return line.edges.every((edge) => edge >= graph.ownEdges) ? onlyThere(there) : relate(one, there);
}

// The cells of a closed run of equal blocks.
export function relateCells(
  hierarchy: Hierarchy,
  { here, sides, across, statistic }: Comparison,
  strip: Strip,
  cells: number,
): readonly Related[] {
  const one = cellValues(hierarchy, strip, cells, here, statistic);
  const other = middleOf(across.map((part, i) => cellValues(hierarchy, strip, cells, { ...sides[i]!.values, ...part }, statistic)));
  return Array.from({ length: cells }, (_, cell) => relate(oneAt(one, cell), oneAt(other, cell)));
}
