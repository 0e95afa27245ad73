// The tree that is drawn. Groups are scopes and folds; items are nodes and their copies.

import { edgesIn, type Graph, isIndices } from "../recorded/graph";
import { nameWithin, operationLabel } from "../recorded/labels";
import { NO_SCOPE } from "../../base/vocabulary";
import { chainTitle, findChains, type Chains } from "./chains";
import { foldSiblings, type Fold, type Run } from "./folding";
import { placeNodes, type Placement } from "./placement";
import { listChildren, type Child } from "./siblings";
import { signAll } from "./structure";

// A chain is never a box. Closed, it is part of a line. Open, its nodes are drawn among their neighbors.
export type GroupKind = "module" | "repeat" | "chunk" | "chain";

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
  // Set if the children are equal blocks and nothing else.
  readonly run: Run | undefined;
  // The node of a module call with only one operation, or else -1. Closed, the two are one box.
  readonly folds: number;
}

export interface Hierarchy extends Placement {
  readonly graph: Graph;
  readonly turned: string; // which tensors are drawn differently than usual (turnedText)
  readonly groups: readonly Group[];
  readonly top: readonly number[];
  readonly itemGroup: Int32Array;
  // The group to which each node's number counts. For a tensor that is drawn next to each user, it
  // is the group around all users. -1: to none, as indices do.
  readonly countsTo: Int32Array;
  readonly groupOf: ReadonlyMap<string, number>;
  // Nodes inside each group, at any depth, copies not counted.
  readonly nodesInside: Int32Array;
}

export const asItem = (child: number): number => -1 - child;

export function turnedText(turned: ReadonlySet<string>): string {
  return [...turned].sort().join("\n");
}

export function buildHierarchy(graph: Graph, turned: ReadonlySet<string> = new Set()): Hierarchy {
  const building = buildInParts(graph, turned);
  for (;;) {
    const { done, value } = building.next();
    if (done === true) return value;
  }
}

// In a large graph, a part takes at most the time for which a page may be unresponsive.
export function* buildInParts(graph: Graph, turned: ReadonlySet<string>): Generator<undefined, Hierarchy> {
  const placement = placeNodes(graph, turned);
  const chains = findChains(graph);
  yield;
  const signatures = signAll(graph, placement);
  yield;
  const childrenOf = listChildren(graph, placement, chains, signatures);
  yield;
  const groups: Group[] = [];
  const itemGroup = new Int32Array(placement.itemNode.length).fill(-1);
  const addItem = (item: number, group: number): number => {
    itemGroup[item] = group;
    return asItem(item);
  };
  const add = (fold: Fold<Child>, parent: number): number => {
    if (fold.kind === "one" && fold.sibling.item !== -1) return addItem(fold.sibling.item, parent);
    const number = groups.length;
    if (fold.kind === "one" && fold.sibling.chain !== -1) {
      const nodes = chains.nodes[fold.sibling.chain]!;
      groups.push(chainGroup(graph, nodes, fold.sibling.signature, parent));
      for (const node of nodes) addItem(node, number);
      return number;
    }
    const children: number[] = [];
    const { folds, run } = fold.kind === "one" ? foldSiblings(childrenOf[fold.sibling.scope]!) : { folds: fold.children, run: fold.run };
    const described = describe(graph, placement, chains, fold, parent, groups[parent]);
    const times = fold.kind === "one" && run !== undefined ? `×${run.count}` : "";
    groups.push({ ...described, subtitle: `${described.subtitle} ${times}`.trim(), children, run });
    for (const part of folds) children.push(add(part, number));
    groups[number] = { ...groups[number]!, folds: fold.kind === "one" ? onlyOperation(graph, placement, children) : -1 };
    return number;
  };
  // The depth of recursion is that of nested modules, not the length of the graph.
  const top = foldSiblings(childrenOf[graph.scopeCount]!).folds.map((fold) => add(fold, -1));
  return {
    ...placement,
    graph,
    turned: turnedText(turned),
    groups,
    top,
    itemGroup,
    countsTo: groupAroundCopies(groups, placement, itemGroup, graph),
    groupOf: new Map(groups.map((group, number) => [group.id, number])),
    nodesInside: countInside(groups, itemGroup, graph.nodeCount),
  };
}

// A module with parameters has other contents than the operation.
function onlyOperation(graph: Graph, placement: Placement, children: readonly number[]): number {
  if (children.length !== 1 || children[0]! >= 0) return -1;
  const node = placement.itemNode[asItem(children[0]!)]!;
  const { kind } = graph.columns.nodes;
  const uses = edgesIn(graph, node).some((edge) => kind[graph.edgeSource[edge]!] === "parameter");
  return kind[node] === "operation" && !uses ? node : -1;
}

// The module that a node is folded with while the module is closed.
export function foldedAround({ groups, itemGroup }: Hierarchy, node: number): number | undefined {
  const group = itemGroup[node] ?? -1;
  return group !== -1 && groups[group]!.folds === node ? group : undefined;
}

function chainGroup(graph: Graph, nodes: readonly number[], signature: number, parent: number): Group {
  const id = `~chain:${graph.columns.nodes.key[nodes[0]!]}`;
  return {
    id,
    kind: "chain",
    scope: NO_SCOPE,
    parent,
    title: chainTitle(graph, nodes),
    subtitle: "",
    signature,
    children: nodes.map(asItem),
    run: undefined,
    folds: -1,
  };
}

// The group that contains everything, if there is one. If it were closed, the whole graph would be one box.
export function soleFrame({ groups, top }: Hierarchy): number | undefined {
  const frames = top.filter((child) => child >= 0 && groups[child]!.folds === -1 && groups[child]!.kind !== "chain");
  return frames.length === 1 ? frames[0] : undefined;
}

// The chain of a node.
export function chainAround({ groups, itemGroup }: Hierarchy, node: number): number | undefined {
  const group = itemGroup[node] ?? -1;
  return group !== -1 && groups[group]!.kind === "chain" ? group : undefined;
}

function describe(
  graph: Graph,
  placement: Placement,
  chains: Chains,
  fold: Fold<Child>,
  parent: number,
  within: Group | undefined,
): Omit<Group, "children" | "run"> {
  if (fold.kind === "one") {
    const { path, call, module } = graph.columns.scopes;
    const { scope, signature } = fold.sibling;
    const outer = graph.scopeParent[scope]!;
    const title = nameWithin(path[scope]!, outer === NO_SCOPE ? "" : path[outer]!);
    return {
      id: `${path[scope]}#${call[scope]}`,
      kind: "module",
      scope,
      parent,
      signature,
      folds: -1,
      title: (title || module[scope]!) + (calledAgain(graph, scope) ? `#${call[scope]}` : ""),
      subtitle: title ? module[scope]! : "",
    };
  }
  const first = nameOf(graph, placement, chains, fold.ends.first);
  const last = nameOf(graph, placement, chains, fold.ends.last);
  const names = first.name === last.name ? first.name : `${first.name} … ${last.name}`;
  const repeat = fold.kind === "repeat";
  return {
    id: `${within?.id ?? ""}~${fold.kind}:${first.key}`,
    kind: fold.kind,
    scope: NO_SCOPE,
    parent,
    signature: -1 - parent,
    folds: -1,
    title: repeat ? names : `${fold.from}–${fold.to}`,
    subtitle: repeat ? `×${fold.run.count}` : names,
  };
}

// Whether a module is called more than once. Only then its calls are numbered.
export function calledAgain(graph: Graph, scope: number): boolean {
  const { path, call } = graph.columns.scopes;
  if (call[scope]! > 0) return true;
  calls.get(graph) ?? calls.set(graph, new Set(path.filter((_, s) => call[s]! > 0)));
  return calls.get(graph)!.has(path[scope]!);
}

const calls = new WeakMap<Graph, Set<string>>();

// A repetition is named after the module in it, else after an operation.
function nameOf(graph: Graph, placement: Placement, chains: Chains, repetition: readonly Child[]): { name: string; key: string } {
  const { operation, name, key } = graph.columns.nodes;
  const child =
    repetition.find(({ scope }) => scope !== NO_SCOPE) ??
    repetition.find(({ item }) => item !== -1 && operation[placement.itemNode[item]!] !== "") ??
    repetition[0]!;
  if (child.scope !== NO_SCOPE) {
    const { path, call } = graph.columns.scopes;
    const short = path[child.scope]!.split(".").slice(-2).join(".");
    return {
      name: calledAgain(graph, child.scope) ? `${short}#${call[child.scope]}` : short,
      key: `${path[child.scope]}#${call[child.scope]}`,
    };
  }
  const node = child.chain === -1 ? placement.itemNode[child.item]! : chains.nodes[child.chain]![0]!;
  return { name: operation[node] ? operationLabel(operation[node]!) : name[node]!, key: key[node]! };
}

function groupAroundCopies(groups: readonly Group[], placement: Placement, itemGroup: Int32Array, graph: Graph): Int32Array {
  const { nodeCount } = graph;
  const around = itemGroup.slice(0, nodeCount);
  for (let item = nodeCount; item < itemGroup.length; item++) {
    let [one, other] = [around[placement.itemNode[item]!]!, itemGroup[item]!];
    while (one !== other) {
      // Parents have lower numbers than their children.
      if (one > other) one = groups[one]!.parent;
      else other = groups[other]!.parent;
    }
    around[placement.itemNode[item]!] = one;
  }
  return around.map((group, node) => (isIndices(graph, node) ? -1 : group));
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
