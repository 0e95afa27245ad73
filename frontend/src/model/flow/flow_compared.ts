// Combines two heat maps to one, of ratios. Numbers are matched by the key of the node and by the step.

import { logRatio, relationOf, Relation, type Joined, type Related } from "../compare/comparison";
import { emptyValues, State, type Values } from "../visible/values";
import { fillGroups, type Flow } from "./flow";
import { entityCount } from "./flow_rows";

// `value` and `state` are those here, as in any flow. The steps are those that both have.
export interface ComparedFlow extends Flow {
  readonly there: Values;
  readonly relation: Uint8Array;
  readonly log2: Float32Array; // as in Related
  readonly against: number | undefined; // the step there with which all columns are compared; undefined: their own
}

export function isCompared(flow: Flow): flow is ComparedFlow {
  return "relation" in flow;
}

export function compareFlows(
  here: Flow,
  there: Flow,
  { nodes, groups, ghosts }: Pick<Joined, "nodes" | "groups" | "ghosts">,
  against: number | undefined,
): ComparedFlow {
  const steps = against === undefined ? [...new Set([...here.steps, ...there.steps])].sort((a, b) => a - b) : here.steps;
  const own = steps.map((step) => here.steps.indexOf(step));
  const others = steps.map((step) => there.steps.indexOf(against ?? step));
  const { nodeCount } = here.hierarchy.graph;
  const otherOf = (entity: number): number => {
    const found = entity < nodeCount ? nodes[entity]! : groups[entity - nodeCount]!;
    return found === -1 || entity < nodeCount ? found : there.hierarchy.graph.nodeCount + found;
  };
  const entities = Int32Array.from({ length: entityCount(here.hierarchy) }, (_, entity) => otherOf(entity));
  const spread = { ...here, steps, ...spreadOut(here, Int32Array.from(entities.keys()), own) };
  const across = throughNodes(
    {
      ...here,
      steps,
      ...spreadOut(
        there,
        entities.map((other, entity) => (entity < nodeCount ? other : -1)),
        others,
      ),
    },
    there,
    entities,
    others,
  );
  return {
    ...spread,
    there: across,
    against,
    shown: shownInEither(here, there, entities),
    ...relateAll(spread, across, entities, ghosts, own, others),
  };
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

function shownInEither(here: Flow, there: Flow, entities: Int32Array): Uint8Array {
  return here.shown.map((shown, entity) => (shown === 1 || (entities[entity] !== -1 && there.shown[entities[entity]!] === 1) ? 1 : 0));
}

function relateAll(
  here: Flow,
  there: Values,
  entities: Int32Array,
  ghosts: Uint8Array,
  own: readonly number[],
  others: readonly number[],
): Pick<ComparedFlow, "relation" | "log2"> {
  const relation = new Uint8Array(here.state.length);
  const log2 = new Float32Array(here.state.length).fill(NaN);
  const { nodeCount, ownNodes } = here.hierarchy.graph;
  for (let entity = 0, at = 0; entity < entities.length; entity++) {
    const ghost = entity < nodeCount ? entity >= ownNodes : ghosts[entity - nodeCount] === 1;
    for (let column = 0; column < own.length; column++, at++) {
      const other = there.state[at]! as State;
      const known = others[column] !== -1 && (entities[entity] !== -1 || (entity >= nodeCount && other !== State.none));
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
  return { relation: flow.relation[at] as Relation, here: flow.value[at]!, there: flow.there.value[at]!, log2: flow.log2[at]! };
}
