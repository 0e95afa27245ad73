// The profile along a loop: one number for each call of a module, each block of a row, each repetition of an operation.

import type { Graph } from "../recorded/graph";
import type { Statistic } from "../recorded/statistics";
import type { Hierarchy } from "../tree/hierarchy";
import { combine, emptyValues, State, type Values } from "../visible/values";

// The members of a loop in forward order, and the member to which each node belongs (-1: none).
export interface Loop {
  readonly what: "calls" | "blocks" | "repetitions";
  readonly name: string;
  readonly indices: readonly number[]; // their numbers in the graph, ascending
  readonly ids: readonly string[]; // of the group or node
  readonly memberOf: Int32Array; // by node
}

// Fewer members are not a loop.
const LEAST = 3;

// The calls of the module at `path`. Nodes in inner modules belong to the call, too.
export function loopOfCalls({ graph }: Hierarchy, path: string): Loop | undefined {
  const { path: paths, call } = graph.columns.scopes;
  const scopes = paths.flatMap((one, scope) => (one === path ? [scope] : [])).sort((a, b) => call[a]! - call[b]!);
  if (scopes.length < LEAST) return undefined;
  const member = new Int32Array(graph.scopeCount).fill(-1);
  scopes.forEach((scope, i) => (member[scope] = i));
  const memberOf = Int32Array.from(graph.nodeScope, (scope) => {
    let at = scope;
    for (let steps = 0; at !== -1 && member[at] === -1 && steps < graph.scopeCount; steps++) at = graph.scopeParent[at]!;
    return at === -1 ? -1 : member[at]!;
  });
  return {
    what: "calls",
    name: path,
    indices: scopes.map((scope) => call[scope]!),
    ids: scopes.map((scope) => `${path}#${call[scope]}`),
    memberOf,
  };
}

// The loop of a node: the same operation in each call of its module, or else its repetitions within one call.
export function loopOfNode(hierarchy: Hierarchy, node: number): Loop | undefined {
  const { graph } = hierarchy;
  const { operation, kind, scope } = graph.columns.nodes;
  if (kind[node] !== "operation") return undefined;
  const { path } = graph.columns.scopes;
  const own = scope[node]!;
  const alike = operation.flatMap((one, other) => (one === operation[node] && kind[other] === "operation" ? [other] : []));
  if (own !== -1) {
    const calls = alike.filter(
      (other) => scope[other] !== -1 && path[scope[other]!] === path[own] && ordinalOf(graph, other) === ordinalOf(graph, node),
    );
    const loop = loopOf(graph, "calls", path[own]!, calls, (other) => graph.columns.scopes.call[scope[other]!]!);
    if (loop !== undefined) return loop;
  }
  return loopOf(
    graph,
    "repetitions",
    operation[node]!,
    alike.filter((other) => scope[other] === own),
    (other) => ordinalOf(graph, other),
  );
}

function loopOf(
  graph: Graph,
  what: Loop["what"],
  name: string,
  nodes: readonly number[],
  indexOf: (node: number) => number,
): Loop | undefined {
  if (nodes.length < LEAST) return undefined;
  const sorted = [...nodes].sort((a, b) => indexOf(a) - indexOf(b));
  const memberOf = new Int32Array(graph.nodeCount).fill(-1);
  sorted.forEach((node, i) => (memberOf[node] = i));
  return { what, name, indices: sorted.map(indexOf), ids: sorted.map((node) => graph.columns.nodes.key[node]!), memberOf };
}

// A key ends with the number of the node among equal ones: "cell#3/TanhBackward0.1".
function ordinalOf({ columns }: Graph, node: number): number {
  return Number(/\.(\d+)$/.exec(columns.nodes.key[node]!)?.[1] ?? 0);
}

// The loop of a group: the calls of its module, or the repetitions in a fold.
export function loopOfGroup(hierarchy: Hierarchy, group: number): Loop | undefined {
  const { kind, scope } = hierarchy.groups[group]!;
  const { path } = hierarchy.graph.columns.scopes;
  if (kind === "module") return loopOfCalls(hierarchy, path[scope]!);
  const members = modulesIn(hierarchy, group);
  const [first] = members;
  if (first === undefined) return loopOfFirst(hierarchy, group);
  return loopOfCalls(hierarchy, path[hierarchy.groups[first]!.scope]!) ?? loopOfBlocks(hierarchy, members);
}

// The modules that a fold repeats, also within its chunks: the first one and those equal to it.
function modulesIn({ groups }: Hierarchy, fold: number): readonly number[] {
  const found: number[] = [];
  const visit = (at: number): void => {
    for (const child of groups[at]!.children) {
      if (child < 0) continue;
      if (groups[child]!.kind === "module") found.push(child);
      else visit(child);
    }
  };
  visit(fold);
  return found.filter((one) => groups[one]!.signature === groups[found[0]!]!.signature);
}

function loopOfFirst(hierarchy: Hierarchy, fold: number): Loop | undefined {
  const { groups, itemGroup, itemNode, graph } = hierarchy;
  const isInside = (group: number): boolean => group !== -1 && (group === fold || isInside(groups[group]!.parent));
  const item = itemGroup.findIndex((group, one) => graph.columns.nodes.kind[itemNode[one]!] === "operation" && isInside(group));
  return item === -1 ? undefined : loopOfNode(hierarchy, itemNode[item]!);
}

function loopOfBlocks({ graph, groups, itemGroup }: Hierarchy, members: readonly number[]): Loop | undefined {
  if (members.length < LEAST) return undefined;
  const member = new Int32Array(groups.length).fill(-1);
  members.forEach((group, i) => (member[group] = i));
  // Parents have lower numbers than their children.
  groups.forEach(({ parent }, group) => {
    if (member[group] === -1 && parent !== -1) member[group] = member[parent]!;
  });
  const memberOf = Int32Array.from({ length: graph.nodeCount }, (_, node) => (itemGroup[node] === -1 ? -1 : member[itemGroup[node]!]!));
  return {
    what: "blocks",
    name: groups[members[0]!]!.subtitle,
    indices: members.map((_, i) => i),
    ids: members.map((group) => groups[group]!.id),
    memberOf,
  };
}

// Parameters are left out, because their gradient is the sum over all calls.
export function profileOf({ graph }: Hierarchy, loop: Loop, nodes: Values, statistic: Statistic): readonly (number | null)[] {
  const along = emptyValues(loop.indices.length);
  loop.memberOf.forEach((member, node) => {
    if (member !== -1 && graph.columns.nodes.kind[node] === "operation")
      combine(along, member, nodes.value[node]!, nodes.state[node]! as State, statistic);
  });
  return Array.from(along.value, (value) => (Number.isNaN(value) ? null : value));
}
