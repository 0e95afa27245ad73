// The text on a box: a title that does not change, and a detail that changes with the step.

import { formatCount, formatNumber } from "../../base/format";
import { isSeed, requiresGrad, saysNone, stopsGradient, wordFor } from "../../model/recorded/gradient_flow";
import type { Graph } from "../../model/recorded/graph";
import { kindLabel, nameWithin, operationLabel, shapeTextOf } from "../../model/recorded/labels";
import { elementOf, halfOf, halfWord, scalarOf, type RecordedStep, type Whole } from "../../model/recorded/record";
import { nameOfNode } from "../../model/recorded/titles";
import type { Hierarchy } from "../../model/tree/hierarchy";
import type { Box } from "../../model/visible/collapse";
import { State, type StepValues } from "../../model/visible/values";
import { DETAIL_FONT, TITLE_FONT, widthOf } from "../style/text";

const MOST_WRITTEN = 3;

// The room for text inside a box of that width. Slanted and round ends take some of it.
export function textRoom(shape: string, width: number): number {
  return width - (shape === "operation" || shape === "group" ? 14 : 24);
}

// The room that the ends of a row take, and the least distance of its number from its title.
export const ROW_ENDS = 22;
export const ROW_GAP = 10;

// The room for the second line of a box, or for the number of a row, which is beside its title.
export function detailRoom({ shape, holder, title, subtitle, copied }: DetailOf, width: number): number {
  if (holder === -1) return textRoom(shape, width);
  return width - ROW_ENDS - ROW_GAP - rowTextWidth({ title: rowTitle({ title, copied }), subtitle }) - (shape === "group" ? ROW_SIGN : 0);
}

// The room for the sign that a row can be opened.
export const ROW_SIGN = 12;
export const BESIDE_TITLE = 6;

export function rowTextWidth({ title, subtitle }: Caption): number {
  return widthOf(title, TITLE_FONT) + (subtitle === "" ? 0 : BESIDE_TITLE + widthOf(subtitle, DETAIL_FONT));
}

interface DetailOf extends Caption {
  readonly shape: string;
  readonly holder: number;
  readonly copied: boolean;
}

export function rowTitle({ title, copied }: Pick<DetailOf, "title" | "copied">): string {
  return copied ? `${title} ↗` : title;
}

// The room in the head of an open group, next to its title and the swatch.
export function headRoom({ title, subtitle }: Caption, width: number): number {
  return width - 72 - widthOf(title, TITLE_FONT) - (subtitle === "" ? 0 : widthOf(subtitle, DETAIL_FONT) + 7);
}

// Room below a closed group for the sheets that say there is more inside.
export const SHEETS = 6;

export interface Caption {
  readonly title: string;
  readonly subtitle: string;
}

export function captionOf(hierarchy: Hierarchy, box: Box): Caption {
  if (box.kind === "group") {
    const { title, subtitle } = hierarchy.groups[box.group]!;
    return { title, subtitle };
  }
  if (box.module !== -1) return foldedCaption(hierarchy, box);
  const { graph } = hierarchy;
  const name = nameWithin(nameOfNode(graph, box.node), scopePath(hierarchy, box));
  const operation = operationLabel(graph.columns.nodes.operation[box.node]!);
  if (operation === "") return { title: name || kindLabel(graph.columns.nodes.kind[box.node]!), subtitle: "" };
  return name === "" || name === operation ? { title: operation, subtitle: "" } : { title: `${name} · ${operation}`, subtitle: "" };
}

// A row has room for the class of a module, but not for its operation.
export function rowCaption(hierarchy: Hierarchy, box: Box): Caption {
  const { title, subtitle } = box.module === -1 ? captionOf(hierarchy, box) : hierarchy.groups[box.module]!;
  return { title, subtitle };
}

// A module call that is one operation has the names of both, such as "20  Sigmoid · sigmoid".
function foldedCaption(hierarchy: Hierarchy, box: Box): Caption {
  const { title, subtitle } = hierarchy.groups[box.module]!;
  const node = captionOf(hierarchy, { ...box, module: -1 }).title;
  return { title, subtitle: subtitle === "" ? node : `${subtitle} · ${node}` };
}

function scopePath(hierarchy: Hierarchy, box: Box): string {
  for (let group = hierarchy.itemGroup[box.item]!; group !== -1; group = hierarchy.groups[group]!.parent) {
    const { scope } = hierarchy.groups[group]!;
    if (scope !== -1) return hierarchy.graph.columns.scopes.path[scope]!;
  }
  return "";
}

export interface Scalars {
  readonly value: number | undefined;
  readonly gradient: number | undefined;
}

export function scalarsOf(graph: Graph, record: RecordedStep | undefined, node: number): Scalars {
  const whole = wholeOf(graph, record, node);
  return { value: scalarOf(whole?.value), gradient: scalarOf(whole?.gradient) };
}

// If a node has several outputs, no single one represents it.
function wholeOf(graph: Graph, record: RecordedStep | undefined, node: number): Whole | undefined {
  return graph.columns.nodes.slot_count[node] === 1 ? record?.whole.get(graph.slotOffset[node]!) : undefined;
}

// A small array in its most readable form: one number if all elements are equal, or the elements if they are few.
export function arrayText(array: readonly number[] | undefined): string | undefined {
  const element = elementOf(array);
  if (element !== undefined) return formatNumber(element);
  return array !== undefined && array.length <= MOST_WRITTEN ? `[${array.map(formatNumber).join(", ")}]` : undefined;
}

// The second line of a box: value and gradient of a scalar (or of each element, if all are equal), else the statistic,
// else why there is none. It is the longest text that fits into `room`; the value is dropped before the gradient.
export function detailOf(
  hierarchy: Hierarchy,
  box: Box,
  values: StepValues | undefined,
  record: RecordedStep | undefined,
  room: number,
): string {
  const choices = detailsOf(hierarchy, box, values, record);
  return choices.find((text) => widthOf(text, DETAIL_FONT) <= room) ?? choices.at(-1) ?? "";
}

// Longest first.
function detailsOf(hierarchy: Hierarchy, box: Box, values: StepValues | undefined, record: RecordedStep | undefined): readonly string[] {
  const number = numberText(box, values);
  if (box.kind === "group") {
    const state = values?.groups.state[box.group];
    return groupDetails(hierarchy, box, number && state === State.number ? `${values?.groupWord} ${number}` : number);
  }
  return nodeDetails(hierarchy.graph, box.node, number, record, values?.nodes.state[box.node] === State.unknown);
}

function groupDetails(hierarchy: Hierarchy, box: Box, number: string | undefined): readonly string[] {
  const inside = hierarchy.nodesInside[box.group]!;
  if (box.open) return [number ?? ""];
  const nodes = inside === 1 ? "1 node" : `${formatCount(inside)} nodes`;
  return number === undefined ? [nodes] : [`${nodes} · ${number}`, number];
}

function nodeDetails(
  graph: Graph,
  node: number,
  number: string | undefined,
  record: RecordedStep | undefined,
  arrived: boolean,
): readonly string[] {
  const whole = wholeOf(graph, record, node);
  const word = isSeed(graph, node) ? "seed" : "grad";
  const value = arrayText(whole?.value);
  const gradient = arrayText(whole?.gradient);
  const each = (array: readonly number[] | undefined): string => (elementOf(array) !== undefined && array?.length !== 1 ? " each" : "");
  const texts: string[] = [];
  if (halfOf(record?.stage) === "value") return valueDetails(graph, node, number, value && `${value}${each(whole?.value)}`);
  if (gradient !== undefined) {
    if (value !== undefined) texts.push(`value ${value}  ${word} ${gradient}${each(whole?.gradient)}`);
    texts.push(`${word} ${gradient}${each(whole?.gradient)}`);
  }
  if (number !== undefined) {
    if (value !== undefined && gradient === undefined) texts.push(`value ${value}  ${number}`);
    return [...texts, number];
  }
  const [missing, shorter] = arrived ? [] : missingTexts(graph, node, record);
  if (value !== undefined) texts.push(missing === undefined ? `value ${value}${each(whole?.value)}` : `value ${value}  ${missing}`);
  return [...texts, missing ?? shapeTextOf(graph, graph.slotOffset[node]!), ...(shorter === undefined ? [] : [shorter])];
}

// A small value is written out. Other tensors have the number, or else their shape.
function valueDetails(graph: Graph, node: number, number: string | undefined, value: string | undefined): readonly string[] {
  const written = value === undefined ? [] : [`${halfWord("value", graph.columns.nodes.kind[node])} ${value}`];
  return [...written, number ?? shapeTextOf(graph, graph.slotOffset[node]!)];
}

// Longest first; empty if nothing is missing.
function missingTexts(graph: Graph, node: number, record: RecordedStep | undefined): readonly string[] {
  if (stopsGradient(graph, node)) return ["gradient stops here", "cut here"];
  if (record?.hasGradients !== true) return [];
  const word = wordFor(graph.columns.nodes.reason[node]!);
  if (word !== undefined) return [word];
  return saysNone(graph, node, record) && requiresGrad(graph, node) ? ["no gradient", "none"] : [];
}

export function numberText(box: Box, values: StepValues | undefined): string | undefined {
  const source = box.kind === "group" ? values?.groups : values?.nodes;
  const index = box.kind === "group" ? box.group : box.node;
  return source === undefined ? undefined : numberOf(source.value[index]!, source.state[index]! as State);
}

// Without a dash, because of a statistic that few tensors have the drawing would be full of them.
export function numberOf(value: number, state: State): string | undefined {
  return state === State.unknown ? undefined : valueText(value, state);
}

export function valueText(value: number, state: State): string | undefined {
  if (state === State.none) return undefined;
  if (state === State.unknown) return "–";
  if (state === State.nonfinite) return "NaN/inf";
  return formatNumber(value);
}
