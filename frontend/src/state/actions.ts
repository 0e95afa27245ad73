// What the user can do to the view. Each changes the store and nothing else.

import { batch } from "@preact/signals";
import { formatCount } from "../base/format";
import { countBoxes, groupsAround, MOST_BOXES, openUpTo, START_BOXES } from "../model/collapse";
import type { Hierarchy } from "../model/hierarchy";
import { distinctSteps, nearestRecord } from "../model/run";
import type { Store } from "./store";

export function chooseRun(store: Store, run: string): void {
  batch(() => {
    const before = store.tag.peek()?.tag;
    store.runName.value = run;
    if (store.tag.value?.tag !== before) forgetView(store);
    const step = store.ref.peek()?.step ?? 0;
    // Runs are compared at the same tag and step where both have them.
    store.recordIndex.value = nearestRecord(store.tag.value?.records ?? [], step, 0);
  });
}

export function chooseTag(store: Store, tag: string): void {
  batch(() => {
    const step = store.ref.peek()?.step ?? 0;
    store.tagName.value = tag;
    store.recordIndex.value = nearestRecord(store.tag.value?.records ?? [], step, 0);
    forgetView(store);
  });
}

// Another graph opens as if it were the first one.
function forgetView(store: Store): void {
  store.selected.value = undefined;
  store.open.value = undefined;
}

// Goes to the record of another structure that is nearest to the present one.
export function chooseHash(store: Store, hash: string): void {
  const records = store.tag.value?.records ?? [];
  const now = store.recordIndex.value;
  let best = -1;
  records.forEach((record, index) => {
    if (record.hash === hash && (best === -1 || Math.abs(index - now) < Math.abs(best - now))) best = index;
  });
  if (best !== -1) store.recordIndex.value = best;
}

export function goToStep(store: Store, step: number, backwardPass = 0): void {
  store.recordIndex.value = nearestRecord(store.tag.value?.records ?? [], step, backwardPass);
}

// Moves by whole steps, keeping the backward pass where the step has it.
export function moveSteps(store: Store, by: number): void {
  const records = store.tag.value?.records ?? [];
  const steps = distinctSteps(records);
  const ref = store.ref.value;
  if (ref === undefined) return;
  const at = steps.indexOf(ref.step) + by;
  const step = steps[Math.max(0, Math.min(steps.length - 1, at))];
  if (step !== undefined) goToStep(store, step, ref.backwardPass);
}

export function toggleGroup(store: Store, id: string): void {
  const hierarchy = store.hierarchy.value;
  const group = hierarchy?.groupOf.get(id);
  if (hierarchy === undefined || group === undefined) return;
  const open = new Set(store.openGroups.value);
  if (!open.delete(group)) open.add(group);
  showOpen(store, hierarchy, open, hierarchy.groups[group]!.title);
}

// Refuses, with a sentence, what would be too much to lay out and to read.
function showOpen(store: Store, hierarchy: Hierarchy, open: ReadonlySet<number>, title: string): boolean {
  const boxes = countBoxes(hierarchy, open);
  if (boxes > MOST_BOXES && boxes > countBoxes(hierarchy, store.openGroups.value)) {
    store.notice.value =
      `Opening "${title}" would show ${formatCount(boxes)} boxes; ${MOST_BOXES} is the limit. Close another group first.`;
    return false;
  }
  store.open.value = idsOf(hierarchy, open);
  return true;
}

export function expandAll(store: Store): void {
  const hierarchy = store.hierarchy.value;
  if (hierarchy === undefined) return;
  const open = openUpTo(hierarchy, MOST_BOXES);
  const rest = hierarchy.groups.length - open.size;
  store.open.value = idsOf(hierarchy, open);
  if (rest > 0) {
    store.notice.value = `Opened as much as fits in ${MOST_BOXES} boxes; ${formatCount(rest)} groups stay closed.`;
  }
}

export function collapseAll(store: Store): void {
  const hierarchy = store.hierarchy.value;
  if (hierarchy === undefined) return;
  // A single frame around everything stays open: closed, it would hide the whole graph in one box.
  const only = hierarchy.top.filter((child) => child >= 0);
  store.open.value = idsOf(hierarchy, new Set(only.length === 1 ? only : []));
}

export function openAtStart(store: Store, hierarchy: Hierarchy): void {
  store.open.value = startIds(hierarchy);
}

const starts = new WeakMap<Hierarchy, ReadonlySet<string>>();

function startIds(hierarchy: Hierarchy): ReadonlySet<string> {
  const ids = starts.get(hierarchy) ?? idsOf(hierarchy, openUpTo(hierarchy, START_BOXES));
  starts.set(hierarchy, ids);
  return ids;
}

// The open groups as a link has to name them: undefined where they are as at the start.
export function chosenGroups(store: Store): readonly string[] | undefined {
  const [open, hierarchy] = [store.open.value, store.hierarchy.value];
  if (open === undefined || hierarchy === undefined) return undefined;
  const start = startIds(hierarchy);
  return open.size === start.size && [...open].every((id) => start.has(id)) ? undefined : [...open];
}

function idsOf(hierarchy: Hierarchy, groups: ReadonlySet<number>): ReadonlySet<string> {
  return new Set([...groups].map((group) => hierarchy.groups[group]!.id));
}

// Selects a node or group; opens the groups around it where that is possible.
export function reveal(store: Store, id: string): void {
  const hierarchy = store.hierarchy.value;
  if (hierarchy === undefined) return;
  const group = hierarchy.groupOf.get(id);
  const node = group === undefined ? hierarchy.graph.columns.nodes.key.indexOf(id) : -1;
  if (group === undefined && node === -1) return;
  const outer = group !== undefined ? hierarchy.groups[group]!.parent : hierarchy.itemGroup[node]!;
  const open = new Set([...store.openGroups.value, ...groupsAround(hierarchy, outer)]);
  batch(() => {
    if (open.size > store.openGroups.value.size) showOpen(store, hierarchy, open, id);
    store.selected.value = id;
  });
}
