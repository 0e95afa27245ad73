// Which nodes, groups, rows and edges of two graphs correspond.

import { edgesIn, type Graph } from "../recorded/graph";
import type { Hierarchy } from "../tree/hierarchy";
import { groupsAround } from "../visible/opening";

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

const known = new WeakMap<Hierarchy, WeakMap<Hierarchy, Joined>>();

// The same, computed once for each two graphs.
export function joinedOf(here: Hierarchy, there: Hierarchy): Joined {
  const others = known.get(here) ?? new WeakMap<Hierarchy, Joined>();
  const joined = others.get(there) ?? joinGraphs(here, there);
  known.set(here, others.set(there, joined));
  return joined;
}
