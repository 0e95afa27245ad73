// Shows a closed run of equal blocks as a row of cells, one for each block, with the block's number.

import { isIndices } from "../recorded/graph";
import type { Statistic } from "../recorded/statistics";
import type { Run } from "../tree/folding";
import { asItem, type Group, type Hierarchy } from "../tree/hierarchy";
import { combine, emptyValues, type State, type StepValues, type Values } from "./values";

export interface Strip extends Run {
  readonly children: readonly number[]; // `period` consecutive children are a block
}

const known = new WeakMap<Group, Strip>();

// The blocks of a group that holds nothing else.
export function stripOf(hierarchy: Hierarchy, group: number): Strip | undefined {
  const described = hierarchy.groups[group]!;
  if (described.run === undefined || described.run.count < 2) return undefined;
  const strip = known.get(described) ?? { ...described.run, children: blocksOf(hierarchy, described) };
  known.set(described, strip);
  return strip;
}

// Long runs are split into chunks, and these into chunks again.
function blocksOf(hierarchy: Hierarchy, { children }: Group): readonly number[] {
  return children.flatMap((child) => {
    const inner = child >= 0 ? hierarchy.groups[child]! : undefined;
    return inner?.kind === "chunk" ? blocksOf(hierarchy, inner) : [child];
  });
}

// The first block of a cell, if `cells` cells are drawn. If there are many blocks, there are fewer cells.
export function firstBlock(strip: Strip, cell: number, cells: number): number {
  return Math.floor((cell * strip.count) / cells);
}

// A cell summarizes its blocks, and a block its contents, like a closed group. A tensor that many
// blocks use counts for none of them.
export function cellValues(hierarchy: Hierarchy, strip: Strip, cells: number, values: StepValues, statistic: Statistic): Values {
  const result = emptyValues(cells);
  for (let cell = 0; cell < cells; cell++) {
    const end = firstBlock(strip, cell + 1, cells) * strip.period;
    for (let at = firstBlock(strip, cell, cells) * strip.period; at < end; at++) {
      const child = strip.children[at]!;
      const source = child >= 0 ? values.groups : values.nodes;
      const index = child >= 0 ? child : hierarchy.itemNode[asItem(child)]!;
      if (child < 0 && (hierarchy.copied[index] === 1 || isIndices(hierarchy.graph, index))) continue;
      combine(result, cell, source.value[index]!, source.state[index]! as State, statistic);
    }
  }
  return result;
}

// The name of a block, and the key that selects it: those of its first module, or else of its first node.
export function blockAt(hierarchy: Hierarchy, strip: Strip, block: number): { readonly id: string; readonly title: string } {
  const { groups, graph, itemNode } = hierarchy;
  const children = strip.children.slice(block * strip.period, (block + 1) * strip.period);
  const modules = children.filter((child) => child >= 0 && groups[child]!.kind !== "chain");
  const group = modules.find((child) => groups[child]!.folds === -1) ?? modules[0];
  if (group !== undefined) return { id: groups[group]!.id, title: `${groups[group]!.title} ${groups[group]!.subtitle}`.trim() };
  const item = children.find((child) => child < 0) ?? groups[children[0]!]!.children[0]!;
  const key = graph.columns.nodes.key[itemNode[asItem(item)]!]!;
  return { id: key, title: key };
}

// The block that a node or group belongs to; -1: none of these.
export function blockOf(hierarchy: Hierarchy, strip: Strip, id: string): number {
  const node = hierarchy.graph.columns.nodes.key.indexOf(id);
  let group = hierarchy.groupOf.get(id) ?? (node === -1 ? -1 : hierarchy.itemGroup[node]!);
  const own = node === -1 ? -1 : strip.children.indexOf(asItem(node));
  if (own !== -1) return Math.floor(own / strip.period);
  for (; group !== -1; group = hierarchy.groups[group]!.parent) {
    const at = strip.children.indexOf(group);
    if (at !== -1) return Math.floor(at / strip.period);
  }
  return -1;
}
