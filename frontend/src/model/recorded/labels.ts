// Makes readable names from the names of autograd and of modules.

import { formatShape } from "../../base/format";
import { KIND_LABELS } from "../../base/vocabulary";
import type { Graph } from "./graph";

// "AddmmBackward0" -> "addmm"; a custom Function's "MyReLUBackward" keeps its spelling.
export function operationLabel(operation: string): string {
  const builtIn = /^(.+)Backward\d+$/.exec(operation) ?? /^(Copy)Backwards$/.exec(operation);
  if (builtIn) return snakeCase(builtIn[1]!);
  return operation.replace(/Backward$/, "") || operation;
}

function snakeCase(name: string): string {
  return name
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1_$2")
    .toLowerCase();
}

// "root" is autograd's word; users know it as the tensor on which they called backward.
export function kindLabel(kind: string): string {
  return KIND_LABELS[kind] ?? kind;
}

// The part of a qualified name that does not repeat its surrounding scope.
export function nameWithin(name: string, scopePath: string): string {
  const prefix = `${scopePath}.`;
  return scopePath !== "" && name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

const words = new Map<string, string>();

// The operation, for a node of autograd ("TransposeBackward0") or one that needs no gradient ("transpose"); "" for a custom Function.
export function wordOf(operation: string): string {
  let word = words.get(operation);
  if (word === undefined) {
    word = operation.endsWith("Backward") ? "" : operationLabel(operation).replace(/^_/, "");
    words.set(operation, word);
  }
  return word;
}

// Of some tensors a watch knows only which function made them.
const UNKNOWN = "unknown"; // the type of a tensor whose shape is not known either

export function hasShape(graph: Graph, row: number): boolean {
  return graph.columns.slots.dtype[row] !== UNKNOWN;
}

// A node without slots has no shape: "".
export function shapeTextOf(graph: Graph, row: number): string {
  const shape = graph.columns.slots.shape[row];
  if (shape === undefined) return "";
  return hasShape(graph, row) ? formatShape(shape) : "unknown shape";
}
