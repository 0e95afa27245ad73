// The ratio of gradient to value along the depth of a model: of the same tensor in each of several numbered modules, or of
// what each of several modules puts out. A norm of both covers the same elements, so the ratio does not depend on the size
// of the tensor, and tensors of different shapes can be compared.

import { slotRowOf } from "../recorded/graph";
import { numberAt, type RecordedStep } from "../recorded/record";
import { foldedAround, type Hierarchy } from "../tree/hierarchy";

export interface Member {
  readonly index: number; // along the chart
  readonly name: string;
  readonly id: string; // of the node or group
  readonly rows: readonly number[]; // the last one that has both numbers counts
}

export interface Depth {
  readonly name: string; // "blocks.*"
  readonly outputs: boolean; // whether its members are modules
  readonly members: readonly Member[]; // in forward order
}

const LEAST = 2;

// A number that is a whole part of a module's path, or that of its call: "blocks.0.mlp#0/GeluBackward0.0" has two. What
// follows a slash counts equal operations.
const NUMBER = /(?<=^|[.:#])(?<!\/.*)\d+(?=[.#/]|$)/g;

// The ways to count along a name: each number in it, with what is before and after it.
function* countedIn(name: string): Generator<readonly [before: string, after: string]> {
  for (const { 0: number, index } of name.matchAll(NUMBER)) yield [name.slice(0, index), name.slice(index + number.length)];
}

// The names that differ from `name` only in one number; the outermost number that several names have.
function alike(names: readonly string[], name: string): readonly (readonly [number: number, at: number])[] {
  for (const [before, after] of countedIn(name)) {
    const found = names.flatMap((one, at): [number, number][] => {
      const middle = one.slice(before.length, one.length - after.length);
      const fits = one.length > before.length + after.length && one.startsWith(before) && one.endsWith(after) && /^\d+$/.test(middle);
      return fits ? [[Number(middle), at]] : [];
    });
    if (found.length >= LEAST) return found.sort((a, b) => a[0] - b[0]);
  }
  return [];
}

function starred(name: string, other: string): string {
  for (const [before, after] of countedIn(name))
    if (other.startsWith(before) && other.endsWith(after) && name !== other) return `${before}*${after}`;
  return name;
}

// A module that is one operation has no card of its own. Its siblings may be other modules.
export function depthOfNode(hierarchy: Hierarchy, node: number, slot: number): Depth | undefined {
  const { graph } = hierarchy;
  const { key, name } = graph.columns.nodes;
  const found = alike(key, key[node]!);
  const around = foldedAround(hierarchy, node);
  const modules = around === undefined ? undefined : depthOfGroup(hierarchy, around);
  if (found.length < LEAST || (modules?.members.length ?? 0) > found.length) return modules;
  const other = found.find(([, at]) => at !== node)![1];
  return {
    name: starred(name[node]!, name[other]!),
    outputs: false,
    members: found.map(([index, at]) => ({ index, name: name[at]!, id: key[at]!, rows: [graph.slotOffset[at]! + slot] })),
  };
}

export function depthOfGroup(hierarchy: Hierarchy, group: number): Depth | undefined {
  const { groups, graph } = hierarchy;
  const { path } = graph.columns.scopes;
  const first = groups[group]!.kind === "module" ? group : modulesIn(hierarchy, group)[0];
  const modules = groups.flatMap(({ kind }, at) => (kind === "module" ? [at] : []));
  const names = modules.map((at) => groups[at]!.id);
  const numbered = first === undefined ? [] : alike(names, groups[first]!.id).map(([index, at]) => [index, modules[at]!] as const);
  const parts = numbered.length >= LEAST ? numbered : modulesIn(hierarchy, group).map((at, index) => [index, at] as const);
  if (parts.length < LEAST) return undefined;
  const rows = outputsOf(
    hierarchy,
    parts.map(([, at]) => at),
  );
  const own = groups[group]!.scope === -1 ? "" : path[groups[group]!.scope]!;
  const [one, other] = parts.map(([, at]) => path[groups[at]!.scope]!);
  return {
    name: numbered.length >= LEAST ? starred(one!, other!) : own || "the model",
    outputs: true,
    members: parts.map(([index, at], i) => ({ index, name: path[groups[at]!.scope]!, id: groups[at]!.id, rows: rows[i]! })),
  };
}

// The modules directly inside of a group, or in its folds.
function modulesIn(hierarchy: Hierarchy, group: number): readonly number[] {
  const { groups } = hierarchy;
  return groups[group]!.children.flatMap((child) => {
    if (child < 0) return [];
    return groups[child]!.kind === "module" ? [child] : groups[child]!.kind === "chain" ? [] : modulesIn(hierarchy, child);
  });
}

// The tensors that each module hands to others, in order.
function outputsOf({ graph, groups, itemGroup }: Hierarchy, members: readonly number[]): readonly (readonly number[])[] {
  const memberOf = new Int32Array(groups.length).fill(-1);
  members.forEach((group, i) => (memberOf[group] = i));
  // Parents have lower numbers than their children.
  groups.forEach(({ parent }, group) => {
    if (memberOf[group] === -1 && parent !== -1) memberOf[group] = memberOf[parent]!;
  });
  const around = (node: number): number => (itemGroup[node] === -1 ? -1 : memberOf[itemGroup[node]!]!);
  const rows = members.map(() => new Set<number>());
  for (let edge = 0; edge < graph.ownEdges; edge++) {
    const source = graph.edgeSource[edge]!;
    const member = around(source);
    const made = graph.columns.nodes.kind[source] === "operation";
    if (made && member !== -1 && around(graph.edgeTarget[edge]!) !== member) rows[member]!.add(slotRowOf(graph, edge));
  }
  return rows.map((found) => [...found].sort((a, b) => a - b));
}

// Null where one of the two was not read, or the value is zero.
export function ratiosOf({ members }: Depth, gradient: RecordedStep, value: RecordedStep): readonly (number | null)[] {
  return members.map(({ rows }) => {
    const ratios = rows.flatMap((row) => {
      const [back, forth] = [numberAt(gradient, "l2_norm", row), numberAt(value, "l2_norm", row)];
      return back === undefined || forth === undefined || forth === 0 ? [] : [back / forth];
    });
    return ratios.at(-1) ?? null;
  });
}
