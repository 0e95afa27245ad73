// Numbers that are equal for equal structures: of nodes, and of scopes with all that is in them.

import { edgesIn, type Graph } from "./graph";
import { operationLabel } from "./labels";
import { scopeDepths, type Placement } from "./placement";

export interface Signatures {
  readonly ofItem: Int32Array;
  readonly ofScope: Int32Array;
  intern(text: string): number;
}

// Equal are: modules, kinds, operations and shapes, wired alike inside. What is fed in
// counts by how much it is, not by where it comes from: the first of many layers, which
// gets the data, is equal to the others though an operation that needs no gradient has
// another name ("view" and "ViewBackward0") and another place in the order of nodes.
export function signAll(graph: Graph, placement: Placement): Signatures {
  const intern = interner();
  const ofNode = Int32Array.from({ length: graph.nodeCount }, (_, node) => intern(describe(graph, node)));
  const ofItem = placement.itemNode.map((node) => ofNode[node]!);
  const written = new Writer(graph, placement, ofItem);
  const ofScope = Int32Array.from(itemsWithin(graph, placement), (items, scope) => intern(written.write(scope, items)));
  return { ofItem, ofScope, intern };
}

function describe(graph: Graph, node: number): string {
  const { kind, operation } = graph.columns.nodes;
  const shapes = graph.columns.slots.shape.slice(graph.slotOffset[node], graph.slotOffset[node + 1]);
  const word = operationLabel(operation[node]!).replace(/^_/, "");
  return `${kind[node]} ${word} ${shapes.map((shape) => shape.join("x")).join(" ")} ${edgesIn(graph, node).length}`;
}

// Of each scope the items in it, at any depth, in forward order.
function itemsWithin(graph: Graph, { itemScope, itemPosition }: Placement): readonly (readonly number[])[] {
  const within: number[][] = Array.from({ length: graph.scopeCount }, () => []);
  const depth = scopeDepths(graph.scopeParent);
  const order = [...itemScope.keys()].sort((a, b) => itemPosition[a]! - itemPosition[b]!);
  for (const item of order) {
    let scope = itemScope[item]!;
    // A cut cycle of parents ends where it is cut.
    for (; scope !== -1 && depth[scope]! > 0; scope = graph.scopeParent[scope]!) within[scope]!.push(item);
    if (scope !== -1) within[scope]!.push(item);
  }
  return within;
}

// Writes down what is in a scope, from its last node backwards along the inputs in
// their order, which is the same in equal structures.
class Writer {
  private readonly place: Int32Array; // of each item in what is being written; -1: not yet
  private readonly stamp: Int32Array; // scope that is being written, where an item is in it

  constructor(private readonly graph: Graph, private readonly placement: Placement, private readonly ofItem: Int32Array) {
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
      for (const edge of this.inputs(item).reverse()) left.push(this.placement.edgeSourceItem[edge]!);
    }
  }

  // A copy has no inputs, and neither has what it is a copy of.
  private inputs(item: number): number[] {
    const { target_input: inputOf } = this.graph.columns.edges;
    return [...edgesIn(this.graph, this.placement.itemNode[item]!)].sort((a, b) => inputOf[a]! - inputOf[b]!);
  }

  private inputsText(item: number, scope: number): string {
    const { source_slot: slotOf } = this.graph.columns.edges;
    return this.inputs(item).map((edge) => {
      const source = this.placement.edgeSourceItem[edge]!;
      return this.stamp[source] === scope ? `${this.place[source]}.${slotOf[edge]}` : "";
    }).join();
  }

  // Which of the modules inside it is in, numbered as they are met.
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
