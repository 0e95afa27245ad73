// The user's actions on the view. Each changes the store and nothing else.

import { batch } from "@preact/signals";
import { formatCount } from "../base/format";
import { distinctSteps, nearestRecord, samePlace, standingAt } from "../model/recorded/run";
import { chainAround, foldedAround, soleFrame, type Hierarchy } from "../model/tree/hierarchy";
import {
  countBoxes,
  countLongLines,
  fits,
  groupsAround,
  isReached,
  MOST_BOXES,
  MOST_LONG_LINES,
  openAtStart,
  openUpTo,
} from "../model/visible/opening";
import type { Store } from "./store";

export function chooseRun(store: Store, run: string): void {
  // Runs are compared at the same tag and step if both have them.
  changePlace(store, () => (store.place.runName.value = run));
}

export function chooseTag(store: Store, tag: string): void {
  changePlace(store, () => (store.place.tagName.value = tag));
}

function changePlace(store: Store, change: () => void): void {
  batch(() => {
    const before = store.place.tag.peek();
    const standing = standingAt(before?.records ?? [], store.place.ref.peek(), store.place.stage.peek());
    store.place.awaited.value = undefined;
    change();
    const after = store.place.tag.value;
    if (after?.tag !== before?.tag) store.shown.selected.value = undefined;
    store.shown.edge.value = undefined;
    store.place.recordIndex.value = samePlace(after?.records ?? [], standing);
    store.graph.refits.value++;
  });
}

// Shows another graph. Open groups and the selection stay if this graph has them. Otherwise it
// opens like a first graph.
export function enterGraph(store: Store, hierarchy: Hierarchy): void {
  batch(() => {
    const first = store.recorded.hierarchy.peek() === undefined;
    const wanted = first ? store.graph.open.peek() && [...store.graph.open.peek()!] : chosenGroups(store);
    const kept = (wanted ?? []).filter((id) => hierarchy.groupOf.has(id));
    const mostly = wanted !== undefined && 2 * kept.length >= wanted.length;
    const few = fits(hierarchy, new Set(kept.map((id) => hierarchy.groupOf.get(id)!)));
    store.graph.open.value = mostly && few ? new Set(kept) : startIds(hierarchy);
    store.recorded.hierarchy.value = hierarchy;
    store.graph.hovered.value = undefined;
    store.shown.edge.value = undefined;
    const selected = store.shown.selected.peek();
    if (selected === undefined || reveal(store, selected)) return;
    // The other side of a link's comparison may have it, and may still be loading.
    if (store.compare.choice.peek() !== undefined && store.compare.others.peek() === undefined) return;
    store.shown.selected.value = undefined;
    if (first) store.shown.notice.value = `This graph has no "${selected}".`;
  });
}

// Nothing is recorded here, so the state of another graph is removed.
export function leaveGraph(store: Store): void {
  batch(() => {
    if (store.recorded.hierarchy.peek() !== undefined) {
      store.shown.selected.value = undefined;
      store.graph.open.value = undefined;
    }
    store.recorded.hierarchy.value = undefined;
    store.recorded.record.value = store.recorded.beside.value = undefined;
    store.recorded.magnitudes.value = undefined;
    store.recorded.badSteps.value = new Map();
    store.shown.edge.value = undefined;
    store.live.playing.value = false;
  });
}

// Goes to the record of another structure that is nearest to the present one.
export function chooseHash(store: Store, hash: string): void {
  const records = store.place.tag.value?.records ?? [];
  const now = store.place.recordIndex.value;
  const stage = store.place.ref.value?.stage;
  const ofStage = records.some((record) => record.hash === hash && record.stage === stage);
  let best = -1;
  records.forEach((record, index) => {
    if (ofStage && record.stage !== stage) return;
    if (record.hash === hash && (best === -1 || Math.abs(index - now) < Math.abs(best - now))) best = index;
  });
  if (best === -1) return;
  store.place.awaited.value = undefined;
  store.place.recordIndex.value = best;
}

export function goToStep(store: Store, step: number, backwardPass = 0): void {
  store.place.awaited.value = undefined;
  store.place.recordIndex.value = nearestRecord(store.place.tag.value?.records ?? [], step, backwardPass, store.place.stage.value);
}

// Shows another stage of the same step. Other steps are shown at this stage too, if they have it.
export function chooseStage(store: Store, stage: string, backwardPass = store.place.ref.value?.backwardPass): void {
  batch(() => {
    store.place.stage.value = stage;
    const ref = store.place.ref.value;
    if (ref !== undefined) goToStep(store, ref.step, backwardPass);
  });
}

// Moves by whole steps. The backward pass stays the same if the step has it.
export function moveSteps(store: Store, by: number): void {
  const records = store.place.tag.value?.records ?? [];
  const steps = distinctSteps(records);
  const ref = store.place.ref.value;
  if (ref === undefined) return;
  const at = steps.indexOf(ref.step) + by;
  const step = steps[Math.max(0, Math.min(steps.length - 1, at))];
  if (step !== undefined) goToStep(store, step, ref.backwardPass);
}

// Opens or closes a group, opens the module that a node is folded with, or folds a chain back into its line.
export function toggleGroup(store: Store, id: string): void {
  const hierarchy = store.recorded.hierarchy.value;
  if (hierarchy === undefined) return;
  const node = hierarchy.graph.columns.nodes.key.indexOf(id);
  const group = hierarchy.groupOf.get(id) ?? foldedAround(hierarchy, node) ?? chainAround(hierarchy, node);
  if (group === undefined) return;
  const open = new Set(store.graph.openGroups.value);
  if (isReached(hierarchy, open, group)) open.delete(group);
  else for (const around of groupsAround(hierarchy, group)) open.add(around);
  showOpen(store, hierarchy, open, hierarchy.groups[group]!.title);
}

// Chains that are folded into a line, by their groups.
export function openChains(store: Store, chains: readonly number[]): void {
  const hierarchy = store.recorded.hierarchy.value;
  if (hierarchy === undefined || chains.length === 0) return;
  showOpen(store, hierarchy, new Set([...store.graph.openGroups.value, ...chains]), hierarchy.groups[chains[0]!]!.title);
}

// Refuses, with a message, if there would be too much to lay out and read.
function showOpen(store: Store, hierarchy: Hierarchy, open: ReadonlySet<number>, title: string): boolean {
  const boxes = countBoxes(hierarchy, open);
  if (boxes > MOST_BOXES && boxes > countBoxes(hierarchy, store.graph.openGroups.value)) {
    store.shown.notice.value = `Opening "${title}" would show ${formatCount(boxes)} boxes; ${formatCount(MOST_BOXES)} is the limit. Close another group first.`;
    return false;
  }
  if (tooManyLines(store, hierarchy, open, `Opening "${title}"`)) return false;
  store.graph.open.value = idsOf(hierarchy, open);
  return true;
}

export function tooManyLines(store: Store, hierarchy: Hierarchy, open: ReadonlySet<number>, what: string): boolean {
  const lines = countLongLines(hierarchy, open);
  const now = store.recorded.hierarchy.value;
  if (lines <= MOST_LONG_LINES || (now !== undefined && lines <= countLongLines(now, store.graph.openGroups.value))) return false;
  store.shown.notice.value = `${what} would draw ${formatCount(lines)} long lines; ${MOST_LONG_LINES} is the limit. Close a group, or draw a tensor with many uses beside each use (U).`;
  return true;
}

export function expandAll(store: Store): void {
  const hierarchy = store.recorded.hierarchy.value;
  if (hierarchy === undefined) return;
  const open = openUpTo(hierarchy, MOST_BOXES);
  if (tooManyLines(store, hierarchy, open, "That")) return;
  const rest = hierarchy.groups.length - open.size - hierarchy.groups.filter(({ folds, kind }) => folds !== -1 || kind === "chain").length;
  store.graph.open.value = idsOf(hierarchy, open);
  store.graph.refits.value++;
  if (rest > 0) {
    store.shown.notice.value = `Opened as many groups as fit in ${formatCount(MOST_BOXES)} boxes; ${formatCount(rest)} groups stay closed.`;
  }
}

export function collapseAll(store: Store): void {
  const hierarchy = store.recorded.hierarchy.value;
  if (hierarchy === undefined) return;
  store.graph.open.value = idsOf(hierarchy, closedAll(hierarchy));
  store.graph.refits.value++;
}

const starts = new WeakMap<Hierarchy, ReadonlySet<string>>();

function firstOpen(hierarchy: Hierarchy): ReadonlySet<number> {
  const open = openAtStart(hierarchy);
  return fits(hierarchy, open) ? open : closedAll(hierarchy);
}

function closedAll(hierarchy: Hierarchy): ReadonlySet<number> {
  const only = soleFrame(hierarchy);
  return new Set(only === undefined ? [] : [only]);
}

function startIds(hierarchy: Hierarchy): ReadonlySet<string> {
  const ids = starts.get(hierarchy) ?? idsOf(hierarchy, firstOpen(hierarchy));
  starts.set(hierarchy, ids);
  return ids;
}

// The open groups that a link must name; undefined if they are those of the start.
export function chosenGroups(store: Store): readonly string[] | undefined {
  const [open, hierarchy] = [store.graph.open.value, store.recorded.hierarchy.value];
  if (open === undefined || hierarchy === undefined) return undefined;
  const start = startIds(hierarchy);
  return open.size === start.size && [...open].every((id) => start.has(id)) ? undefined : [...open];
}

function idsOf(hierarchy: Hierarchy, groups: ReadonlySet<number>): ReadonlySet<string> {
  return new Set([...groups].map((group) => hierarchy.groups[group]!.id));
}

// Selects a node or group, opens the groups around it where that is possible, and
// brings it into view. Returns whether the graph has it.
export function reveal(store: Store, id: string): boolean {
  const hierarchy = store.recorded.hierarchy.value;
  if (hierarchy === undefined) return false;
  const { key } = hierarchy.graph.columns.nodes;
  const named = hierarchy.groupOf.get(id);
  const folded = named === undefined || store.graph.openGroups.value.has(named) ? -1 : hierarchy.groups[named]!.folds;
  const group = folded === -1 ? named : undefined;
  const node = folded !== -1 ? folded : group === undefined ? key.indexOf(id) : -1;
  if (group === undefined && node === -1) return false;
  const open = new Set([...store.graph.openGroups.value, ...groupsAround(hierarchy, outside(store, hierarchy, group, node))]);
  batch(() => {
    if (open.size > store.graph.openGroups.value.size) showOpen(store, hierarchy, open, id);
    store.shown.selected.value = store.graph.sought.value = group === undefined ? key[node]! : id;
    store.shown.edge.value = undefined;
  });
  return true;
}

// The innermost group that must be open to show a group or a node.
function outside(store: Store, hierarchy: Hierarchy, group: number | undefined, node: number): number {
  if (group !== undefined) return hierarchy.groups[group]!.parent;
  const around = foldedAround(hierarchy, node);
  if (around !== undefined && !store.graph.openGroups.value.has(around)) return hierarchy.groups[around]!.parent;
  return hierarchy.itemGroup[node]!;
}

// Selects a line of the drawing, given by the edges of the graph that it shows.
export function chooseEdge(store: Store, edges: readonly number[] | undefined): void {
  batch(() => {
    store.shown.selected.value = undefined;
    store.shown.edge.value = edges;
  });
}
