// What is written on a box: a title that does not change, a detail that changes with the step.

import type { Size } from "../base/geometry";
import { formatCount, formatNumber, formatShape } from "../base/format";
import type { Box } from "../model/collapse";
import type { Graph } from "../model/graph";
import type { Hierarchy } from "../model/hierarchy";
import { nameWithin, operationLabel } from "../model/labels";
import { elementOf, scalarOf, WHOLE_LIMIT, type RecordedStep } from "../model/record";
import { State, type StepValues } from "../model/values";
import { DETAIL_FONT, TITLE_FONT, widthOf } from "./text";

export interface Caption {
  readonly title: string;
  readonly subtitle: string;
}

export function captionOf(hierarchy: Hierarchy, box: Box): Caption {
  if (box.kind === "group") {
    const { title, subtitle } = hierarchy.groups[box.group]!;
    return { title, subtitle };
  }
  const { graph } = hierarchy;
  const name = nameWithin(nameOfNode(graph, box.node), scopePath(hierarchy, box));
  const operation = operationLabel(graph.columns.nodes.operation[box.node]!);
  if (operation === "") return { title: name || graph.columns.nodes.kind[box.node]!, subtitle: "" };
  return name === "" || name === operation
    ? { title: operation, subtitle: "" }
    : { title: `${name} · ${operation}`, subtitle: "" };
}

// A variable's name where one was found, else the node's own unless that only repeats the operation.
export function nameOfNode(graph: Graph, node: number): string {
  const { name, operation } = graph.columns.nodes;
  const slot = graph.columns.slots.name[graph.slotOffset[node]!];
  if (slot) return slot;
  const own = name[node]!;
  if (operation[node] === "") return own;
  // "l.0/addmm.1": module, operation, ordinal.
  const last = own.slice(own.lastIndexOf("/") + 1).replace(/[._]\d+$/, "");
  return last === operation[node] || last === operationLabel(operation[node]!) ? "" : own;
}

function scopePath(hierarchy: Hierarchy, box: Box): string {
  for (let group = hierarchy.itemGroup[box.item]!; group !== -1; group = hierarchy.groups[group]!.parent) {
    const { scope } = hierarchy.groups[group]!;
    if (scope !== -1) return hierarchy.graph.columns.scopes.path[scope]!;
  }
  return "";
}

// Sizes depend on the structure alone, so that a step never moves a box.
export function sizeOf(hierarchy: Hierarchy, box: Box): Size {
  const { title, subtitle } = captionOf(hierarchy, box);
  const text = widthOf(title, TITLE_FONT) + (subtitle ? widthOf(subtitle, DETAIL_FONT) + 8 : 0);
  if (box.kind === "group") {
    return box.open
      ? { width: Math.min(360, Math.ceil(text) + 112), height: 60 }
      : { width: clamp(text + 34, 128, 240), height: 46 };
  }
  const { kind } = hierarchy.graph.columns.nodes;
  if (kind[box.node] === "constant") return { width: clamp(text + 24, 64, 180), height: 34 };
  const slant = kind[box.node] === "operation" ? 24 : 38;
  const least = isSmall(hierarchy.graph, box.node) ? 140 : 88;
  return { width: clamp(text + slant, least, 230), height: kind[box.node] === "root" ? 50 : 42 };
}

function clamp(value: number, low: number, high: number): number {
  return Math.ceil(Math.max(low, Math.min(high, value)));
}

// Tensors that may be kept whole need room for value and gradient.
function isSmall(graph: Graph, node: number): boolean {
  const shape = graph.columns.slots.shape[graph.slotOffset[node]!];
  return shape !== undefined && shape.reduce((product, size) => product * size, 1) <= WHOLE_LIMIT;
}

export interface Scalars {
  readonly value: number | undefined;
  readonly gradient: number | undefined;
}

export function scalarsOf(graph: Graph, record: RecordedStep | undefined, node: number): Scalars {
  const whole = record?.whole.get(graph.slotOffset[node]!);
  return { value: scalarOf(whole?.value), gradient: scalarOf(whole?.gradient) };
}

// The second line of a box: value and gradient of a scalar (or of each element, where all are equal), else the statistic, else why there is none.
export function detailOf(
  hierarchy: Hierarchy, box: Box, values: StepValues | undefined, record: RecordedStep | undefined,
): string {
  const number = numberText(box, values);
  if (box.kind === "group") {
    const inside = hierarchy.nodesInside[box.group]!;
    if (box.open) return number ?? "";
    const nodes = inside === 1 ? "1 node" : `${formatCount(inside)} nodes`;
    return number === undefined ? nodes : `${nodes} · ${number}`;
  }
  const whole = record?.whole.get(hierarchy.graph.slotOffset[box.node]!);
  const value = elementOf(whole?.value);
  const gradient = elementOf(whole?.gradient);
  const scalars = [
    ...(value === undefined ? [] : [`value ${formatNumber(value)}`]),
    ...(gradient === undefined ? [] : [`grad ${formatNumber(gradient)}`]),
  ];
  if (scalars.length > 0) return scalars.join("  ");
  return number ?? shapeText(hierarchy.graph, box.node);
}

export function numberText(box: Box, values: StepValues | undefined): string | undefined {
  const source = box.kind === "group" ? values?.groups : values?.nodes;
  const index = box.kind === "group" ? box.group : box.node;
  return source === undefined ? undefined : valueText(source.value[index]!, source.state[index]! as State);
}

export function valueText(value: number, state: State): string | undefined {
  if (state === State.none) return undefined;
  if (state === State.unknown) return "–";
  if (state === State.nonfinite) return "NaN/inf";
  return formatNumber(value);
}

function shapeText(graph: Graph, node: number): string {
  const shape = graph.columns.slots.shape[graph.slotOffset[node]!];
  return shape === undefined ? "" : formatShape(shape);
}
