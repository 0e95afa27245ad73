// Numbers that are equal for equal structures, of nodes and of scopes with everything in them.

import { edgesIn, type Graph } from "../recorded/graph";
import { wordOf } from "../recorded/labels";
import { scopeDepths, type Placement } from "./placement";

export interface Signatures {
  readonly ofItem: Int32Array;
  readonly ofScope: Int32Array;
  intern(text: string): number;
}

// Two structures are equal if modules, kinds, operations, shapes and inner wiring are equal. Of
// inputs from outside only the number counts, not their origin. So the first of many layers, which
// gets the data, is equal to the others. This holds although an operation without gradient has a
// different name ("view" and "ViewBackward0") and a different place in the order of nodes.
export function signAll(graph: Graph, placement: Placement): Signatures {
  const intern = interner();
  const ofNode = Int32Array.from({ length: graph.nodeCount }, (_, node) => intern(describe(graph, node)));
  const ofItem = placement.itemNode.map((node) => ofNode[node]!);
  const writer = new Writer(graph, placement, ofItem);
  const ofScope = Int32Array.from({ length: graph.scopeCount }, (_, scope) => intern(`scope ${scope}`));
  // Most of the work is for large scopes, and these are rarely equal to another.
  itemsOfPossibleTwins(graph, placement).forEach((items, scope) => (ofScope[scope] = intern(writer.write(scope, items))));
  return { ofItem, ofScope, intern };
}

function describe(graph: Graph, node: number): string {
  const { kind, operation } = graph.columns.nodes;
  let text = `${kind[node]} ${wordOf(operation[node]!) || operation[node]} ${graph.inStart[node + 1]! - graph.inStart[node]!}`;
  for (let row = graph.slotOffset[node]!; row < graph.slotOffset[node + 1]!; row++) text += ` ${graph.columns.slots.shape[row]!.join("x")}`;
  return text;
}

// The items of each scope that has a sibling of the same module, at any depth and in forward order.
function itemsOfPossibleTwins(graph: Graph, { itemScope, itemPosition }: Placement): ReadonlyMap<number, readonly number[]> {
  const { scopeParent } = graph;
  const depth = scopeDepths(scopeParent);
  // A cycle of parents ends where it was cut.
  const above = (scope: number): number => (depth[scope] === 0 ? -1 : scopeParent[scope]!);
  const counts = new Int32Array(graph.scopeCount);
  for (const scope of itemScope) for (let at = scope; at !== -1; at = above(at)) counts[at]!++;
  const twins = new Map<string, number[]>();
  counts.forEach((count, scope) => {
    const key = `${above(scope)} ${graph.columns.scopes.module[scope]}`;
    if (count === 0) return;
    const known = twins.get(key);
    if (known === undefined) twins.set(key, [scope]);
    else known.push(scope);
  });
  const within = new Map<number, number[]>();
  for (const scopes of twins.values()) if (scopes.length > 1) for (const scope of scopes) within.set(scope, []);
  itemScope.forEach((scope, item) => {
    for (let at = scope; at !== -1; at = above(at)) within.get(at)?.push(item);
  });
  for (const items of within.values()) items.sort((a, b) => itemPosition[a]! - itemPosition[b]!);
  return within;
}

// Writes down the contents of a scope, from its last node backward along the inputs in order. This
// order is the same in equal structures.
class Writer {
  private readonly place: Int32Array; // of each item in what is being written; -1: not yet
  private readonly stamp: Int32Array; // scope that is being written, where an item is in it

  constructor(
    private readonly graph: Graph,
    private readonly placement: Placement,
    private readonly ofItem: Int32Array,
  ) {
    this.place = new Int32Array(placement.itemNode.length);
    this.stamp = new Int32Array(placement.itemNode.length).fill(-1);
  }

  write(scope: number, items: readonly number[]): string {
    const { place, stamp } = this;
    for (const item of items) {
      place[item] = -1;
      stamp[item] = this.isFedIn(item) ? -1 : scope;
    }
    const order: number[] = [];
    for (let i = items.length - 1; i >= 0; i--) this.follow(items[i]!, scope, order);
    const modules = new Map<number, number>();
    const lines = order.map((item) => `${this.ofItem[item]}@${this.scopeText(item, modules)}:${this.inputsText(item, scope)}`);
    return `${this.graph.columns.scopes.module[scope]}(${lines.join(" ")})`;
  }

  private isFedIn(item: number): boolean {
    const kind = this.graph.columns.nodes.kind[this.placement.itemNode[item]!];
    return kind === "constant" || kind === "input";
  }

  private follow(last: number, scope: number, order: number[]): void {
    const left = [last];
    for (let item = left.pop(); item !== undefined; item = left.pop()) {
      if (this.stamp[item] !== scope || this.place[item] !== -1) continue;
      this.place[item] = order.length;
      order.push(item);
      const edges = this.inputs(item);
      for (let at = edges.length - 1; at >= 0; at--) left.push(this.placement.edgeSourceItem[edges[at]!]!);
    }
  }

  // Sorted by their places among the arguments. A copy has no place, nor has its original.
  private inputs(item: number): Int32Array {
    const { target_input: inputOf } = this.graph.columns.edges;
    const edges = edgesIn(this.graph, this.placement.itemNode[item]!);
    return edges.length < 2 ? edges : edges.slice().sort((a, b) => inputOf[a]! - inputOf[b]!);
  }

  private inputsText(item: number, scope: number): string {
    const { source_slot: slotOf } = this.graph.columns.edges;
    let text = "";
    for (const edge of this.inputs(item)) {
      const source = this.placement.edgeSourceItem[edge]!;
      text += this.stamp[source] === scope ? `,${this.place[source]}.${slotOf[edge]}` : ",";
    }
    return text;
  }

  // The number of the inner module that it is in; modules are numbered as they are met.
  private scopeText(item: number, modules: Map<number, number>): string {
    const scope = this.placement.itemScope[item]!;
    const known = modules.get(scope);
    if (known !== undefined) return String(known);
    modules.set(scope, modules.size);
    return `${modules.size - 1}${this.graph.columns.scopes.module[scope]}`;
  }
}

function interner(): (text: string) => number {
  const numbers = new Map<string, number>();
  return (text) => {
    const known = numbers.get(text) ?? numbers.size;
    numbers.set(text, known);
    return known;
  };
}
