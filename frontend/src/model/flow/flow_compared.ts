// Combines two heat maps, or one with those of several runs, to one of ratios. Numbers are matched by the key of the node
// and by the step.

import { logRatio, relationOf, Relation, type Related } from "../compare/comparison";
import type { Joined } from "../compare/joined";
import { beyond, middleOf, oneAt, type Middle } from "../compare/middle";
import { emptyValues, State, type Values } from "../visible/values";
import { fillGroups, type Flow } from "./flow";
import { entityCount } from "./flow_rows";

// `value` and `state` are those here, as in any flow. The steps are those that both have.
export interface ComparedFlow extends Flow {
  readonly there: Values | Middle; // the median, if the other side is several runs
  readonly runs: number; // there
  readonly relation: Uint8Array;
  readonly log2: Float32Array; // as in Related
  readonly against: number | undefined; // the step there with which all columns are compared; undefined: their own
}

export interface OtherFlow {
  readonly flow: Flow;
  readonly joined: Pick<Joined, "nodes" | "groups" | "ghosts">; // from here to there
  readonly against: number | undefined; // the step with which all columns are compared; undefined: their own
}

export function isCompared(flow: Flow): flow is ComparedFlow {
  return "relation" in flow;
}

export function compareFlows(here: Flow, others: readonly [OtherFlow, ...OtherFlow[]]): ComparedFlow {
  const [first] = others;
  const theirs = others.flatMap(({ flow, against }) => (against === undefined ? flow.steps : []));
  const steps = theirs.length === 0 ? here.steps : [...new Set([...here.steps, ...theirs])].sort((a, b) => a - b);
  const own = steps.map((step) => here.steps.indexOf(step));
  const entities = Int32Array.from({ length: entityCount(here.hierarchy) }, (_, entity) => entity);
  const spread = { ...here, steps, ...spreadOut(here, entities, own) };
  const sides = others.map((other) => sideOf(here, other, steps));
  const there = middleOf(sides.map(({ across }) => across));
  return {
    ...spread,
    there,
    runs: others.length,
    against: first.against,
    shown: shownInAny(here, sides),
    ...relateAll(spread, there, sides, first.joined.ghosts, own),
  };
}

interface FlowSide {
  readonly flow: Flow;
  readonly across: Values; // by the entities and columns here
  readonly entities: Int32Array; // those there; -1: none
  readonly columns: readonly number[];
}

function sideOf(here: Flow, { flow, joined: { nodes, groups }, against }: OtherFlow, steps: readonly number[]): FlowSide {
  const { nodeCount } = here.hierarchy.graph;
  const at = new Map(flow.steps.map((step, column) => [step, column]));
  const columns = steps.map((step) => at.get(against ?? step) ?? -1);
  const otherOf = (entity: number): number => {
    const found = entity < nodeCount ? nodes[entity]! : groups[entity - nodeCount]!;
    return found === -1 || entity < nodeCount ? found : flow.hierarchy.graph.nodeCount + found;
  };
  const entities = Int32Array.from({ length: entityCount(here.hierarchy) }, (_, entity) => otherOf(entity));
  const spread = spreadOut(
    flow,
    entities.map((other, entity) => (entity < nodeCount ? other : -1)),
    columns,
  );
  return { flow, entities, columns, across: throughNodes({ ...here, steps, ...spread }, flow, entities, columns) };
}

// The values of `from`, by the entities and columns of the other; -1: there is none.
function spreadOut(from: Flow, entities: Int32Array, columns: readonly number[]): Values {
  const made = emptyValues(entities.length * columns.length);
  entities.forEach((entity, to) => entity !== -1 && copyRow(from, entity, made, to, columns));
  return made;
}

function copyRow(from: Flow, entity: number, into: Values, to: number, columns: readonly number[]): void {
  for (let at = 0; at < columns.length; at++) {
    if (columns[at] === -1) continue;
    const source = entity * from.steps.length + columns[at]!;
    into.value[to * columns.length + at] = from.value[source]!;
    into.state[to * columns.length + at] = from.state[source]!;
  }
}

// If a fold has different boundaries there, the nodes that both have are compared, as in the graph.
// A module is compared with all its contents there.
function throughNodes(made: Flow, there: Flow, entities: Int32Array, columns: readonly number[]): Values {
  fillGroups(made);
  for (let entity = made.hierarchy.graph.nodeCount; entity < entities.length; entity++) {
    if (entities[entity] !== -1) copyRow(there, entities[entity]!, made, entity, columns);
  }
  return { value: made.value, state: made.state };
}

function shownInAny(here: Flow, sides: readonly FlowSide[]): Uint8Array {
  const isShown = ({ flow, entities }: FlowSide, entity: number): boolean => entities[entity] !== -1 && flow.shown[entities[entity]!] === 1;
  return here.shown.map((shown, entity) => (shown === 1 || sides.some((side) => isShown(side, entity)) ? 1 : 0));
}

function relateAll(
  here: Flow,
  there: Values,
  sides: readonly FlowSide[],
  ghosts: Uint8Array,
  own: readonly number[],
): Pick<ComparedFlow, "relation" | "log2"> {
  const relation = new Uint8Array(here.state.length);
  const log2 = new Float32Array(here.state.length).fill(NaN);
  const { nodeCount, ownNodes } = here.hierarchy.graph;
  const recorded = own.map((_, column) => sides.some(({ columns }) => columns[column] !== -1));
  const entities = entityCount(here.hierarchy);
  for (let entity = 0, at = 0; entity < entities; entity++) {
    const ghost = entity < nodeCount ? entity >= ownNodes : ghosts[entity - nodeCount] === 1;
    const exists = sides.some((side) => side.entities[entity] !== -1);
    for (let column = 0; column < own.length; column++, at++) {
      const other = there.state[at]! as State;
      const known = recorded[column]! && (exists || (entity >= nodeCount && other !== State.none));
      relation[at] = relationAt(here.state[at]! as State, other, own[column] !== -1 && !ghost, known);
      if (relation[at] === Relation.both) log2[at] = logRatio(Math.abs(here.value[at]!), Math.abs(there.value[at]!));
    }
  }
  return { relation, log2 };
}

function relationAt(here: State, there: State, recorded: boolean, known: boolean): Relation {
  if (!recorded) return there === State.none ? Relation.none : Relation.onlyThere;
  if (!known) return here === State.none ? Relation.none : Relation.onlyHere;
  return relationOf(here, there);
}

export function relatedAt(flow: ComparedFlow, entity: number, column: number): Related | undefined {
  if (!(column >= 0 && column < flow.steps.length)) return undefined;
  const at = entity * flow.steps.length + column;
  const { range, value } = oneAt(flow.there, at);
  return { relation: flow.relation[at] as Relation, here: flow.value[at]!, there: value, log2: flow.log2[at]!, range };
}

// Above (1) or below (-1) those of all runs of a group.
export function beyondAt({ there, value, relation }: ComparedFlow, at: number): -1 | 0 | 1 {
  if (!("low" in there) || relation[at] !== Relation.both) return 0;
  return beyond(value[at]!, [there.low[at]!, there.high[at]!]);
}
