// The answer of the route `graph`: one graph as columns.

import type { NodeKind } from "../../base/vocabulary";

export interface GraphColumns {
  readonly hash: string;
  readonly rows: number;
  readonly scopes: {
    readonly path: readonly string[];
    readonly call: readonly number[];
    readonly module: readonly string[];
    readonly parent: readonly number[];
  };
  readonly nodes: {
    readonly key: readonly string[];
    readonly name: readonly string[];
    readonly kind: readonly NodeKind[];
    readonly operation: readonly string[];
    readonly scope: readonly number[];
    readonly source: readonly string[];
    readonly is_leaf: readonly boolean[];
    readonly order: readonly number[];
    readonly aliases: readonly (readonly string[])[];
    readonly note: readonly string[]; // a sentence for people
    readonly reason: readonly string[]; // a code: why no gradient can arrive; "" elsewhere
    readonly slot_count: readonly number[];
    readonly dashboard_name?: readonly string[]; // in TensorBoard's own Graphs dashboard
  };
  readonly slots: {
    readonly name: readonly string[];
    readonly shape: readonly (readonly number[])[];
    readonly dtype: readonly string[];
    readonly requires_grad: readonly boolean[];
    readonly retains_grad: readonly boolean[];
    readonly placement?: readonly string[]; // how the gradient is spread over processes, such as "fsdp:S0"
    readonly part?: readonly string[]; // which part of it was recorded, such as "shard 1 of 2"; "" for a whole one
  };
  readonly edges: {
    readonly source: readonly number[];
    readonly source_slot: readonly number[];
    readonly target: readonly number[];
    readonly target_input: readonly number[];
    readonly row: readonly number[];
  };
}
