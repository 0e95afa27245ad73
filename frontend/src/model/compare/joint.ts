// A graph plus the nodes that only the other graph has. These "ghosts" are drawn where they would be.
//
// The graph's own rows, nodes and edges keep their numbers; ghosts come after them. A ghost has no
// slots, because records of this graph have no rows for it.

import { parseGraph, type Graph } from "../recorded/graph";
import type { GraphColumns } from "../recorded/graph_columns";

// If there are more ghosts, because the graphs have little in common, the others are only listed.
export const MOST_GHOSTS = 20_000;

export function ghostsOf(here: Graph, there: Graph): readonly number[] {
  const known = new Set(here.columns.nodes.key.slice(0, here.ownNodes));
  const ghosts = [...there.columns.nodes.key.keys()].filter((node) => !known.has(there.columns.nodes.key[node]!));
  return ghosts.length > MOST_GHOSTS ? [] : ghosts;
}

// The value of `joint` that the graph must have while it is compared with the other one.
export function jointHash(here: Graph, there: Graph | undefined): string {
  return there === undefined || there.hash === here.hash || ghostsOf(here, there).length === 0 ? "" : there.hash;
}

// `here` itself if there are no ghosts.
export function joinWith(here: Graph, there: Graph): Graph {
  const ghosts = ghostsOf(here, there);
  if (ghosts.length === 0) return here;
  const scopes = joinScopes(here.columns.scopes, there.columns.scopes);
  const numbers = new Map(here.columns.nodes.key.map((key, node) => [key, node]));
  ghosts.forEach((node, i) => numbers.set(there.columns.nodes.key[node]!, here.nodeCount + i));
  const nodeOf = there.columns.nodes.key.map((key) => numbers.get(key)!);
  const edges = there.columns.edges.source.flatMap((source, edge) =>
    nodeOf[source]! >= here.nodeCount || nodeOf[there.columns.edges.target[edge]!]! >= here.nodeCount ? [edge] : [],
  );
  const joined = parseGraph({
    ...here.columns,
    scopes: scopes.columns,
    nodes: joinNodes(here.columns.nodes, there.columns.nodes, ghosts, scopes.numbers),
    edges: {
      source: [...here.columns.edges.source, ...edges.map((edge) => nodeOf[there.edgeSource[edge]!]!)],
      source_slot: [...here.columns.edges.source_slot, ...edges.map((edge) => there.columns.edges.source_slot[edge]!)],
      target: [...here.columns.edges.target, ...edges.map((edge) => nodeOf[there.edgeTarget[edge]!]!)],
      target_input: [...here.columns.edges.target_input, ...edges.map((edge) => there.columns.edges.target_input[edge]!)],
      row: [...here.columns.edges.row, ...edges.map(() => 0)],
    },
  });
  if (!joined.ok) return here;
  const graph = { ...joined.value, ownNodes: here.nodeCount, ownEdges: here.edgeCount, joint: there.hash };
  return { ...graph, position: positionsOf(graph) };
}

function joinScopes(
  here: GraphColumns["scopes"],
  there: GraphColumns["scopes"],
): { readonly columns: GraphColumns["scopes"]; readonly numbers: readonly number[] } {
  const columns = { path: [...here.path], call: [...here.call], module: [...here.module], parent: [...here.parent] };
  const known = new Map(here.path.map((path, scope) => [`${path}#${here.call[scope]}`, scope]));
  const numbers = there.path.map((path, scope) => known.get(`${path}#${there.call[scope]}`) ?? columns.path.push(path) - 1);
  there.path.forEach((_, scope) => {
    const number = numbers[scope]!;
    if (number < here.path.length) return;
    columns.call[number] = there.call[scope]!;
    columns.module[number] = there.module[scope]!;
    columns.parent[number] = there.parent[scope] === -1 ? -1 : numbers[there.parent[scope]!]!;
  });
  return { columns, numbers };
}

function joinNodes(
  here: GraphColumns["nodes"],
  there: GraphColumns["nodes"],
  ghosts: readonly number[],
  scopes: readonly number[],
): GraphColumns["nodes"] {
  const both = <T>(one: readonly T[], other: readonly T[]): readonly T[] => [...one, ...ghosts.map((node) => other[node]!)];
  return {
    key: both(here.key, there.key),
    name: both(here.name, there.name),
    kind: both(here.kind, there.kind),
    operation: both(here.operation, there.operation),
    scope: [...here.scope, ...ghosts.map((node) => (there.scope[node] === -1 ? -1 : scopes[there.scope[node]!]!))],
    source: both(here.source, there.source),
    is_leaf: both(here.is_leaf, there.is_leaf),
    order: both(here.order, there.order),
    aliases: both(here.aliases, there.aliases),
    note: both(here.note, there.note),
    reason: both(here.reason, there.reason),
    slot_count: [...here.slot_count, ...ghosts.map(() => 0)],
    ...(here.dashboard_name === undefined ? {} : { dashboard_name: [...here.dashboard_name, ...ghosts.map(() => "")] }),
  };
}

const SHORTLY = 1e-4;

// A ghost comes right after the last of its inputs. Ghosts are in forward order among themselves.
function positionsOf(graph: Graph): Float64Array {
  const position = Float64Array.from({ length: graph.nodeCount }, (_, node) => node);
  for (let node = graph.ownNodes; node < graph.nodeCount; node++) {
    let last = -1;
    for (let at = graph.inStart[node]!; at < graph.inStart[node + 1]!; at++) {
      const source = graph.edgeSource[graph.inEdges[at]!]!;
      if (source < node) last = Math.max(last, position[source]!);
    }
    position[node] = last + SHORTLY;
  }
  return position;
}
