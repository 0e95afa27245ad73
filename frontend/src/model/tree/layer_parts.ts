// Says which operations and modules are norms, activations or dropout: what people read as a part of the layer before it.

import { NO_SCOPE } from "../../base/vocabulary";
import type { Graph } from "../recorded/graph";
import { wordOf } from "../recorded/labels";
import { asItem, type Hierarchy } from "./hierarchy";

const WORDS = new Set([
  "relu",
  "relu6",
  "leaky_relu",
  "prelu_kernel",
  "rrelu_with_noise",
  "elu",
  "selu",
  "celu",
  "gelu",
  "silu",
  "mish",
  "tanh",
  "sigmoid",
  "log_sigmoid",
  "hardtanh",
  "hardsigmoid",
  "hardswish",
  "hardshrink",
  "softshrink",
  "softplus",
  "threshold",
  "native_batch_norm",
  "cudnn_batch_norm",
  "miopen_batch_norm",
  "native_layer_norm",
  "native_group_norm",
  "fused_rms_norm",
  "native_dropout",
]);
const CLASSES = /(Norm|Dropout)([123]d)?$|^(PReLU|DropPath)$/;

export function isPartOfLayer({ columns }: Graph, node: number): boolean {
  const { kind, operation } = columns.nodes;
  return kind[node] === "operation" && WORDS.has(wordOf(operation[node]!).replace(/_$/, ""));
}

// A module without modules inside.
export function isLayer({ groups }: Hierarchy, group: number): boolean {
  const { kind, children } = groups[group]!;
  return kind === "module" && children.every((child) => child < 0 || groups[child]!.kind === "chain");
}

// A norm, dropout or activation of a library, also if it consists of several operations.
export function isLayerOfParts(hierarchy: Hierarchy, group: number): boolean {
  if (!isLayer(hierarchy, group)) return false;
  const { graph, groups, itemNode } = hierarchy;
  const { scope, children } = groups[group]!;
  if (scope !== NO_SCOPE && CLASSES.test(graph.columns.scopes.module[scope]!)) return true;
  const operations = children.flatMap((child) => {
    const node = child < 0 ? itemNode[asItem(child)]! : -1;
    return node !== -1 && graph.columns.nodes.kind[node] !== "operation" ? [] : [node];
  });
  return operations.length === 1 && operations[0] !== -1 && isPartOfLayer(graph, operations[0]!);
}
