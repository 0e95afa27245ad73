// Finds chains of operations that only change the shape of a tensor. They are drawn as part of a line.

import { isCut, retainsGrad } from "../recorded/gradient_flow";
import { edgesIn, edgesOut, type Graph } from "../recorded/graph";
import { operationLabel, wordOf } from "../recorded/labels";

const SHAPE_ONLY = new Set([
  "view",
  "unsafe_view",
  "reshape",
  "reshape_alias",
  "transpose",
  "t",
  "permute",
  "expand",
  "squeeze",
  "unsqueeze",
  "movedim",
  "flatten",
  "unflatten",
  "alias",
]);
// An operation that reshape() and contiguous() may add. Alone it is an ordinary operation.
const IN_PASSING = "clone";

// Whether an operation leaves all elements as they are, and passes their gradient on unchanged.
export function keepsElements(word: string): boolean {
  return word === IN_PASSING || SHAPE_ONLY.has(word);
}

export interface Chains {
  readonly nodes: readonly (readonly number[])[]; // of each chain, in forward order
  readonly chainOf: Int32Array; // of each node; -1: none
}

// Each chain is within one scope, and each of its nodes has one line in and one line out. Its scope
// has other contents, too.
export function findChains(graph: Graph): Chains {
  const chainOf = new Int32Array(graph.nodeCount).fill(-1);
  const passes = Uint8Array.from({ length: graph.nodeCount }, (_, node) => Number(canPass(graph, node)));
  const others = countOthers(graph, passes);
  const nodes: number[][] = [];
  for (let node = 0; node < graph.nodeCount; node++) {
    if (passes[node] === 0 || chainOf[node] !== -1 || others[1 + graph.nodeScope[node]!] === 0) continue;
    const chain = chainFrom(graph, passes, node);
    if (!chain.some((one) => SHAPE_ONLY.has(wordOf(graph.columns.nodes.operation[one]!)))) continue;
    for (const one of chain) chainOf[one] = nodes.length;
    nodes.push(chain);
  }
  return { nodes, chainOf };
}

// Nodes come in forward order, so the first node found of a chain is its head.
function chainFrom(graph: Graph, passes: Uint8Array, head: number): number[] {
  const chain = [head];
  for (;;) {
    const next = graph.edgeTarget[edgesOut(graph, chain.at(-1)!)[0]!]!;
    if (passes[next] === 0 || graph.nodeScope[next] !== graph.nodeScope[head] || chain.length > graph.nodeCount) return chain;
    chain.push(next);
  }
}

function canPass(graph: Graph, node: number): boolean {
  const { kind, note, slot_count: slots, operation } = graph.columns.nodes;
  if (kind[node] !== "operation" || slots[node] !== 1 || note[node] !== "") return false;
  if (!keepsElements(wordOf(operation[node]!))) return false;
  const into = edgesIn(graph, node);
  if (into.length !== 1 || edgesOut(graph, node).length !== 1) return false;
  return !isCut(graph, into[0]!) && !retainsGrad(graph, node);
}

// For each scope, counted from -1: operations that are in no chain, and scopes inside.
function countOthers(graph: Graph, passes: Uint8Array): Int32Array {
  const others = new Int32Array(graph.scopeCount + 1);
  const { kind } = graph.columns.nodes;
  for (let node = 0; node < graph.nodeCount; node++) {
    if (kind[node] === "operation" && passes[node] === 0) others[1 + graph.nodeScope[node]!]!++;
  }
  for (const parent of graph.scopeParent) others[1 + parent]!++;
  return others;
}

// "view → transpose"
export function chainTitle(graph: Graph, nodes: readonly number[]): string {
  const words = nodes.map((node) => operationLabel(graph.columns.nodes.operation[node]!));
  return words.length > 5 ? `${words.slice(0, 4).join(" → ")} → … (${words.length})` : words.join(" → ");
}
