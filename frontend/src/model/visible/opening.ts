// Determines which groups are open, at the start and on demand, and how many boxes that gives.

import { soleFrame, type Hierarchy } from "../tree/hierarchy";
import { isLayerOfParts } from "../tree/layer_parts";
import { COPY_ABOVE, usesOf } from "../tree/placement";
import { showGraph } from "./collapse";

export const START_BOXES = 60;
export const MOST_BOXES = 10_000;
// The limit for lines of tensors with many uses that are drawn once. Each line crosses everything
// in between, and ELK needs a minute for four hundred.
export const MOST_LONG_LINES = 120;

export function countBoxes(hierarchy: Hierarchy, open: ReadonlySet<number>): number {
  const { groups, top } = hierarchy;
  const boxes = (child: number): number => {
    if (child < 0 || groups[child]!.kind !== "chain") return 1;
    return open.has(child) ? groups[child]!.children.length : 0;
  };
  const sum = (children: readonly number[]): number => children.reduce((count, child) => count + boxes(child), 0);
  let count = sum(top);
  groups.forEach(({ kind, parent, children }, group) => {
    if (kind !== "chain" && open.has(group) && isReached(hierarchy, open, parent)) count += sum(children);
  });
  return count;
}

export function countLongLines(hierarchy: Hierarchy, open: ReadonlySet<number>): number {
  const { graph, turned } = hierarchy;
  if (turned === "") return 0;
  const long = new Set(
    turned
      .split("\n")
      .map((key) => graph.columns.nodes.key.indexOf(key))
      .filter((node) => node !== -1 && usesOf(graph, node) > COPY_ABOVE),
  );
  const { boxes, edges } = showGraph(hierarchy, open);
  return edges.filter(({ source }) => long.has(boxes[source]!.node)).length;
}

// Whether this many boxes and lines can be laid out and read.
export function fits(hierarchy: Hierarchy, open: ReadonlySet<number>): boolean {
  return countBoxes(hierarchy, open) <= MOST_BOXES && countLongLines(hierarchy, open) <= MOST_LONG_LINES;
}

// Whether a group and all around it are open.
export function isReached(hierarchy: Hierarchy, open: ReadonlySet<number>, group: number): boolean {
  for (let at = group; at !== -1; at = hierarchy.groups[at]!.parent) if (!open.has(at)) return false;
  return true;
}

// The first view of a graph: all of it if it is small, or else closed runs of equal blocks. Norms that
// only follow a layer are rows in its box, so they stay closed.
export function openAtStart(hierarchy: Hierarchy): ReadonlySet<number> {
  const closed = followingAtStart(hierarchy);
  const all = openUpTo(hierarchy, START_BOXES, { closed });
  const more = hierarchy.groups.some(({ kind, folds }, group) => kind !== "chain" && folds === -1 && !all.has(group) && !closed.has(group));
  return more ? openUpTo(hierarchy, START_BOXES, { runs: false, closed }) : all;
}

function followingAtStart(hierarchy: Hierarchy): ReadonlySet<number> {
  const norms = new Set([...hierarchy.groups.keys()].filter((group) => isLayerOfParts(hierarchy, group)));
  const { boxes, holder } = showGraph(hierarchy, openUpTo(hierarchy, START_BOXES, { closed: norms }), true);
  return new Set(boxes.flatMap(({ group }, box) => (group !== -1 && holder[box] !== -1 ? [group] : [])));
}

export interface Opening {
  readonly runs?: boolean; // whether runs of equal blocks are opened
  readonly closed?: ReadonlySet<number>; // groups that stay closed, and what is equal to them beside them
  readonly weigh?: (child: number) => number; // how many boxes (rows) a child counts as
}

// Opens level by level while at most `limit` boxes are shown. Equal siblings open together or not
// at all, so that equal things look equal. A module with one operation stays one box. On each
// level, runs open first, because they show what goes wrong along a deep net.
export function openUpTo(
  hierarchy: Hierarchy,
  limit: number,
  { runs = true, closed = new Set(), weigh = unlessChain(hierarchy) }: Opening = {},
): ReadonlySet<number> {
  const open = new Set<number>();
  const sum = (children: readonly number[]): number => children.reduce((count, child) => count + weigh(child), 0);
  const only = soleFrame(hierarchy);
  let shown = sum(hierarchy.top);
  let level: readonly (readonly number[])[] = [hierarchy.top];
  while (level.length > 0) {
    const next: (readonly number[])[] = [];
    for (const children of level) {
      for (const alike of runsFirst(hierarchy, bySignature(hierarchy, children))) {
        if (alike.some((group) => closed.has(group))) continue;
        const cost = alike.reduce((count, group) => count + sum(hierarchy.groups[group]!.children), 0);
        if (shown + cost > limit) continue;
        if (!runs && hierarchy.groups[alike[0]!]!.run !== undefined && alike[0] !== only) continue;
        shown += cost;
        for (const group of alike) {
          open.add(group);
          next.push(hierarchy.groups[group]!.children);
        }
      }
    }
    level = next;
  }
  return open;
}

function unlessChain({ groups }: Hierarchy): (child: number) => number {
  return (child) => (child >= 0 && groups[child]!.kind === "chain" ? 0 : 1);
}

function bySignature(hierarchy: Hierarchy, children: readonly number[]): Iterable<readonly number[]> {
  const classes = new Map<number, number[]>();
  for (const child of children) {
    if (child < 0) continue;
    const { signature, folds, kind } = hierarchy.groups[child]!;
    if (folds !== -1 || kind === "chain") continue;
    const known = classes.get(signature);
    if (known === undefined) classes.set(signature, [child]);
    else known.push(child);
  }
  return classes.values();
}

function runsFirst({ groups }: Hierarchy, classes: Iterable<readonly number[]>): readonly (readonly number[])[] {
  const rank = ([first]: readonly number[]): number => Number(groups[first!]!.run === undefined);
  return [...classes].sort((a, b) => rank(a) - rank(b));
}

// The groups that must be open to show a node (or the inside of a group's parent).
export function groupsAround(hierarchy: Hierarchy, group: number): readonly number[] {
  const around: number[] = [];
  for (let at = group; at !== -1; at = hierarchy.groups[at]!.parent) around.push(at);
  return around;
}
