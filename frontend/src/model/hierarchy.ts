// The tree that is drawn: scopes and folds as groups, nodes and their copies as items.

import { foldSiblings, type Fold } from "./folding";
import { edgesIn, NO_SCOPE, type Graph } from "./graph";
import { nameWithin, operationLabel } from "./labels";
import { placeNodes, scopeDepths, type Placement } from "./placement";

export type GroupKind = "module" | "repeat" | "chunk";

export interface Group {
  readonly id: string;
  readonly kind: GroupKind;
  readonly scope: number; // NO_SCOPE for folds
  readonly parent: number; // group, or -1 at the top; always less than the group's own number
  readonly title: string;
  readonly subtitle: string;
  readonly signature: number;
  // In forward order: g >= 0 is group g, i < 0 is item -1 - i.
  readonly children: readonly number[];
  // The node of a module call that is one operation and nothing else: closed, the two are one box. Else -1.
  readonly folds: number;
}

export interface Hierarchy extends Placement {
  readonly graph: Graph;
  readonly groups: readonly Group[];
  readonly top: readonly number[];
  readonly itemGroup: Int32Array;
  readonly groupOf: ReadonlyMap<string, number>;
  // Nodes inside each group, at any depth, copies not counted.
  readonly nodesInside: Int32Array;
}

export const asItem = (child: number): number => -1 - child;

interface Child {
  readonly signature: number;
  readonly position: number;
  readonly scope: number; // the scope, or NO_SCOPE where it is an item
  readonly item: number;
}

export function buildHierarchy(graph: Graph): Hierarchy {
  const placement = placeNodes(graph);
  const childrenOf = sortChildren(graph, placement);
  const groups: Group[] = [];
  const itemGroup = new Int32Array(placement.itemNode.length).fill(-1);
  const add = (fold: Fold<Child>, parent: number): number => {
    if (fold.kind === "one" && fold.sibling.scope === NO_SCOPE) {
      itemGroup[fold.sibling.item] = parent;
      return -1 - fold.sibling.item;
    }
    const number = groups.length;
    const children: number[] = [];
    groups.push(describe(graph, placement, fold, parent, groups[parent], children));
    const inner = fold.kind === "one" ? foldSiblings(childrenOf[fold.sibling.scope]!) : fold.children;
    for (const part of inner) children.push(add(part, number));
    groups[number] = { ...groups[number]!, folds: fold.kind === "one" ? onlyOperation(graph, placement, children) : -1 };
    return number;
  };
  // Recursion goes as deep as modules are nested, not as long as the graph is.
  const top = foldSiblings(childrenOf[graph.scopeCount]!).map((fold) => add(fold, -1));
  return {
    ...placement,
    graph,
    groups,
    top,
    itemGroup,
    groupOf: new Map(groups.map((group, number) => [group.id, number])),
    nodesInside: countInside(groups, itemGroup, graph.nodeCount),
  };
}

// Of a module with parameters there is more to show than the operation.
function onlyOperation(graph: Graph, placement: Placement, children: readonly number[]): number {
  if (children.length !== 1 || children[0]! >= 0) return -1;
  const node = placement.itemNode[asItem(children[0]!)]!;
  const { kind } = graph.columns.nodes;
  const uses = edgesIn(graph, node).some((edge) => kind[graph.edgeSource[edge]!] === "parameter");
  return kind[node] === "operation" && !uses ? node : -1;
}

// The module that a node is folded with while that is closed.
export function foldedAround({ groups, itemGroup }: Hierarchy, node: number): number | undefined {
  const group = itemGroup[node] ?? -1;
  return group !== -1 && groups[group]!.folds === node ? group : undefined;
}

// Children of each scope in forward order; the last entry holds those of no scope.
function sortChildren(graph: Graph, placement: Placement): readonly (readonly Child[])[] {
  const { scopeCount, scopeParent } = graph;
  const lists: Child[][] = Array.from({ length: scopeCount + 1 }, () => []);
  const listOf = (scope: number): Child[] => lists[scope === NO_SCOPE ? scopeCount : scope]!;
  const intern = interner();
  placement.itemNode.forEach((node, item) => {
    const { kind, operation } = graph.columns.nodes;
    const signature = intern(`${kind[node]} ${operation[node]}`);
    listOf(placement.itemScope[item]!).push({
      signature, position: placement.itemPosition[item]!, scope: NO_SCOPE, item,
    });
  });
  const depth = scopeDepths(scopeParent);
  const order = Array.from({ length: scopeCount }, (_, scope) => scope).sort((a, b) => depth[b]! - depth[a]!);
  for (const scope of order) {
    const own = lists[scope]!.sort((a, b) => a.position - b.position);
    if (own.length === 0) continue;
    const signature = intern(`${graph.columns.scopes.module[scope]}(${own.map((child) => child.signature).join()})`);
    // A cut cycle of parents hangs at the top.
    const parent = depth[scope] === 0 ? NO_SCOPE : scopeParent[scope]!;
    // By its last node: then whatever a group uses stands before it, and cutting
    // a level into chunks makes no cycle.
    const { position } = own[own.length - 1]!;
    listOf(parent).push({ signature, position, scope, item: -1 });
  }
  lists[scopeCount]!.sort((a, b) => a.position - b.position);
  return lists;
}

function interner(): (text: string) => number {
  const numbers = new Map<string, number>();
  return (text) => {
    const known = numbers.get(text) ?? numbers.size;
    numbers.set(text, known);
    return known;
  };
}

function describe(
  graph: Graph, placement: Placement, fold: Fold<Child>, parent: number,
  within: Group | undefined, children: readonly number[],
): Group {
  if (fold.kind === "one") {
    const { path, call, module } = graph.columns.scopes;
    const { scope, signature } = fold.sibling;
    const outer = graph.scopeParent[scope]!;
    const title = nameWithin(path[scope]!, outer === NO_SCOPE ? "" : path[outer]!);
    return {
      id: `${path[scope]}#${call[scope]}`,
      kind: "module", scope, parent, children, signature, folds: -1,
      title: (title || module[scope]!) + (calledAgain(graph, scope) ? `#${call[scope]}` : ""),
      subtitle: title ? module[scope]! : "",
    };
  }
  const first = nameOf(graph, placement, fold.ends.first);
  const last = nameOf(graph, placement, fold.ends.last);
  const names = first.name === last.name ? first.name : `${first.name} … ${last.name}`;
  const repeat = fold.kind === "repeat";
  return {
    id: `${within?.id ?? ""}~${fold.kind}:${first.key}`,
    kind: fold.kind, scope: NO_SCOPE, parent, children,
    signature: -1 - parent, folds: -1,
    title: repeat ? names : `${fold.from}–${fold.to}`,
    subtitle: repeat ? `×${fold.count}` : names,
  };
}

// Whether a module is called more than once: only then its calls are numbered.
export function calledAgain(graph: Graph, scope: number): boolean {
  const { path, call } = graph.columns.scopes;
  if (call[scope]! > 0) return true;
  calls.get(graph) ?? calls.set(graph, new Set(path.filter((_, s) => call[s]! > 0)));
  return calls.get(graph)!.has(path[scope]!);
}

const calls = new WeakMap<Graph, Set<string>>();

// A repetition is called after the module in it, else after an operation.
function nameOf(graph: Graph, placement: Placement, repetition: readonly Child[]): { name: string; key: string } {
  const { operation, name, key } = graph.columns.nodes;
  const child =
    repetition.find(({ scope }) => scope !== NO_SCOPE) ??
    repetition.find(({ item }) => operation[placement.itemNode[item]!] !== "") ??
    repetition[0]!;
  if (child.scope !== NO_SCOPE) {
    const { path, call } = graph.columns.scopes;
    const short = path[child.scope]!.split(".").slice(-2).join(".");
    return {
      name: calledAgain(graph, child.scope) ? `${short}#${call[child.scope]}` : short,
      key: `${path[child.scope]}#${call[child.scope]}`,
    };
  }
  const node = placement.itemNode[child.item]!;
  return { name: operation[node] ? operationLabel(operation[node]!) : name[node]!, key: key[node]! };
}

function countInside(groups: readonly Group[], itemGroup: Int32Array, nodeCount: number): Int32Array {
  const inside = new Int32Array(groups.length);
  for (let node = 0; node < nodeCount; node++) {
    if (itemGroup[node] !== -1) inside[itemGroup[node]!]!++;
  }
  // Parents have lower numbers than their children.
  for (let group = groups.length - 1; group >= 0; group--) {
    const { parent } = groups[group]!;
    if (parent !== -1) inside[parent]! += inside[group]!;
  }
  return inside;
}
