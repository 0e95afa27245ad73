// How the graph is drawn: tensors with several uses once or next to each of their uses, in columns or in one, norms as rows or as boxes.

import { batch, type Signal } from "@preact/signals";
import { buildHierarchy } from "../model/tree/hierarchy";
import { usesOf } from "../model/tree/placement";
import { tooManyLines } from "./actions";
import type { Store } from "./store";

// Reverses that, and changes the graph. Returns whether such a tensor is selected.
export function turnUses(store: Store, key: string): boolean {
  const hierarchy = store.recorded.hierarchy.value;
  const node = hierarchy?.graph.columns.nodes.key.indexOf(key) ?? -1;
  if (hierarchy === undefined || node === -1 || usesOf(hierarchy.graph, node) < 2) return false;
  const turned = new Set(store.graph.turned.value);
  if (!turned.delete(key)) turned.add(key);
  const next = buildHierarchy(hierarchy.graph, turned);
  const open = new Set([...(store.graph.open.value ?? [])].flatMap((id) => next.groupOf.get(id) ?? []));
  if (tooManyLines(store, next, open, "That")) return true;
  store.graph.turned.value = turned;
  return true;
}

export function turnColumns(store: Store): void {
  turn(store, store.graph.oneColumn);
}

export function turnFollowing(store: Store): void {
  turn(store, store.graph.apart);
}

function turn({ graph }: Store, choice: Signal<boolean>): void {
  batch(() => {
    choice.value = !choice.peek();
    graph.refits.value++;
  });
}
