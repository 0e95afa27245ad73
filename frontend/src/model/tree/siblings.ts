// The contents of each scope in forward order, with a number that is equal for equal structures.

import type { Graph } from "../recorded/graph";
import { NO_SCOPE } from "../../base/vocabulary";
import type { Chains } from "./chains";
import { scopeDepths, type Placement } from "./placement";
import type { Signatures } from "./structure";

export interface Child {
  readonly signature: number;
  readonly position: number;
  readonly scope: number; // the scope, or NO_SCOPE if it is an item or a chain
  readonly item: number; // -1 if it is none
  readonly chain: number; // -1 if it is none
  readonly isBlock: boolean;
}

// By scope; the last entry holds siblings without a scope.
export function listChildren(
  graph: Graph,
  placement: Placement,
  chains: Chains,
  { ofItem, ofScope, intern }: Signatures,
): readonly (readonly Child[])[] {
  const { scopeCount, scopeParent } = graph;
  const lists: Child[][] = Array.from({ length: scopeCount + 1 }, () => []);
  const listOf = (scope: number): Child[] => lists[scope === NO_SCOPE ? scopeCount : scope]!;
  placement.itemNode.forEach((node, item) => {
    const chain = item === node ? chains.chainOf[node]! : -1;
    const nodes = chain === -1 ? [node] : chains.nodes[chain]!;
    if (nodes[0] !== node) return;
    const signature = chain === -1 ? ofItem[item]! : intern(`chain ${nodes.map((one) => ofItem[one]).join()}`);
    const position = placement.itemPosition[item]!;
    listOf(placement.itemScope[item]!).push({
      signature,
      position,
      scope: NO_SCOPE,
      item: chain === -1 ? item : -1,
      chain,
      isBlock: false,
    });
  });
  const depth = scopeDepths(scopeParent);
  const deepestFirst = Array.from({ length: scopeCount }, (_, scope) => scope).sort((a, b) => depth[b]! - depth[a]!);
  for (const scope of deepestFirst) {
    const own = lists[scope]!.sort((a, b) => a.position - b.position);
    if (own.length === 0) continue;
    // A cut cycle of parents is placed at the top.
    const parent = depth[scope] === 0 ? NO_SCOPE : scopeParent[scope]!;
    // A group is sorted by its last node, so that everything it uses comes before it. Then
    // splitting a level into chunks makes no cycle.
    listOf(parent).push({ signature: ofScope[scope]!, position: own[own.length - 1]!.position, scope, item: -1, chain: -1, isBlock: true });
  }
  lists[scopeCount]!.sort((a, b) => a.position - b.position);
  return lists;
}
