// What lies in each scope, in forward order, with a number that is equal for equal structures.

import type { Chains } from "./chains";
import { edgesIn, NO_SCOPE, type Graph } from "./graph";
import { commonScope, scopeDepths, type Placement } from "./placement";

export interface Child {
  readonly signature: number;
  readonly position: number;
  readonly scope: number; // the scope, or NO_SCOPE where it is an item or a chain
  readonly item: number; // -1 where it is none
  readonly chain: number; // -1 where it is none
}

type Placed = Omit<Child, "signature">;

// By scope; the last entry holds those of no scope.
export function listChildren(graph: Graph, placement: Placement, chains: Chains): readonly (readonly Child[])[] {
  const depth = scopeDepths(graph.scopeParent);
  const deepestFirst = Array.from({ length: graph.scopeCount }, (_, scope) => scope).sort((a, b) => depth[b]! - depth[a]!);
  const lists = placeChildren(graph, placement, chains, depth, deepestFirst);
  return sign(graph, placement, chains, depth, deepestFirst, lists);
}

function placeChildren(
  graph: Graph, placement: Placement, chains: Chains, depth: Int32Array, deepestFirst: readonly number[],
): readonly (readonly Placed[])[] {
  const { scopeCount, scopeParent } = graph;
  const lists: Placed[][] = Array.from({ length: scopeCount + 1 }, () => []);
  const listOf = (scope: number): Placed[] => lists[scope === NO_SCOPE ? scopeCount : scope]!;
  placement.itemNode.forEach((node, item) => {
    const chain = item === node ? chains.chainOf[node]! : -1;
    if (chain !== -1 && chains.nodes[chain]![0] !== node) return;
    listOf(placement.itemScope[item]!).push({
      position: placement.itemPosition[item]!, scope: NO_SCOPE, item: chain === -1 ? item : -1, chain,
    });
  });
  for (const scope of deepestFirst) {
    const own = lists[scope]!.sort((a, b) => a.position - b.position);
    if (own.length === 0) continue;
    // A cut cycle of parents hangs at the top.
    const parent = depth[scope] === 0 ? NO_SCOPE : scopeParent[scope]!;
    // By its last node: then whatever a group uses stands before it, and cutting
    // a level into chunks makes no cycle.
    listOf(parent).push({ position: own[own.length - 1]!.position, scope, item: -1, chain: -1 });
  }
  lists[scopeCount]!.sort((a, b) => a.position - b.position);
  return lists;
}

// Equal are: kinds, operations and shapes, in the same order, wired alike inside. What is
// fed in counts by how much it is, not by where it comes from: the first of many layers,
// which gets the data, is equal to the others.
function sign(
  graph: Graph, placement: Placement, chains: Chains, depth: Int32Array,
  deepestFirst: readonly number[], lists: readonly (readonly Placed[])[],
): readonly (readonly Child[])[] {
  const intern = interner();
  const wires = wiresWithin(graph, placement, depth, rankItems(graph, placement, chains, lists));
  const signatures = new Int32Array(graph.scopeCount);
  const ofItem = (item: number): number => intern(describeItem(graph, placement.itemNode[item]!));
  const signed = (child: Placed): Child => {
    const { scope, item, chain } = child;
    if (item !== -1) return { ...child, signature: ofItem(item) };
    if (scope !== NO_SCOPE) return { ...child, signature: signatures[scope]! };
    return { ...child, signature: intern(`chain ${chains.nodes[chain]!.map(ofItem).join()}`) };
  };
  const result: (readonly Child[])[] = [];
  for (const scope of deepestFirst) {
    const own = lists[scope]!.map(signed);
    result[scope] = own;
    const inside = wires.get(scope)?.sort().join(" ") ?? "";
    const parts = own.filter(({ item }) => item === -1 || !isFedIn(graph, placement.itemNode[item]!)).map(({ signature }) => signature);
    signatures[scope] = intern(`${graph.columns.scopes.module[scope]}(${parts.join()}; ${inside})`);
  }
  result[graph.scopeCount] = lists[graph.scopeCount]!.map(signed);
  return result;
}

function isFedIn(graph: Graph, node: number): boolean {
  const kind = graph.columns.nodes.kind[node];
  return kind === "constant" || kind === "input";
}

function describeItem(graph: Graph, node: number): string {
  const { kind, operation } = graph.columns.nodes;
  const shapes = graph.columns.slots.shape.slice(graph.slotOffset[node], graph.slotOffset[node + 1]);
  return `${kind[node]} ${operation[node]} ${shapes.map((shape) => shape.join("x")).join(" ")} ${edgesIn(graph, node).length}`;
}

interface Ranks {
  readonly ofItem: Int32Array;
  readonly ofScope: Int32Array; // that of the first item in it
}

// Numbers all items in the order in which the tree is read; in equal scopes equal items are equally far from the first.
function rankItems(graph: Graph, placement: Placement, chains: Chains, lists: readonly (readonly Placed[])[]): Ranks {
  const ofItem = new Int32Array(placement.itemNode.length);
  const ofScope = new Int32Array(graph.scopeCount);
  let next = 0;
  const left = [...lists[graph.scopeCount]!].reverse();
  for (let child = left.pop(); child !== undefined; child = left.pop()) {
    if (child.item !== -1) ofItem[child.item] = isFedIn(graph, placement.itemNode[child.item]!) ? -1 : next++;
    else if (child.chain !== -1) for (const node of chains.nodes[child.chain]!) ofItem[node] = next++;
    else {
      ofScope[child.scope] = next;
      for (let i = lists[child.scope]!.length - 1; i >= 0; i--) left.push(lists[child.scope]![i]!);
    }
  }
  return { ofItem, ofScope };
}

// The edges of each scope that are in no scope within it.
function wiresWithin(graph: Graph, placement: Placement, depth: Int32Array, ranks: Ranks): Map<number, string[]> {
  const { source_slot: slotOf, target_input: inputOf } = graph.columns.edges;
  const wires = new Map<number, string[]>();
  for (let edge = 0; edge < graph.edgeCount; edge++) {
    const [from, to] = [placement.edgeSourceItem[edge]!, graph.edgeTarget[edge]!];
    const scope = commonScope(graph, depth, placement.itemScope[from]!, placement.itemScope[to]!);
    if (scope === NO_SCOPE || ranks.ofItem[from] === -1) continue;
    const first = ranks.ofScope[scope]!;
    const wire = `${ranks.ofItem[from]! - first}.${slotOf[edge]}>${ranks.ofItem[to]! - first}.${inputOf[edge]}`;
    const known = wires.get(scope);
    if (known === undefined) wires.set(scope, [wire]);
    else known.push(wire);
  }
  return wires;
}

function interner(): (text: string) => number {
  const numbers = new Map<string, number>();
  return (text) => {
    const known = numbers.get(text) ?? numbers.size;
    numbers.set(text, known);
    return known;
  };
}
