// The types of answers, as http_api.md defines them. The model has its own types.

import type { Severity, WhatKept } from "../base/vocabulary";

export interface TagReply {
  readonly tag: string;
  readonly hashes: readonly string[];
  readonly steps: readonly number[];
  readonly backward_passes: readonly number[];
  readonly wall_times: readonly number[];
  readonly hash_index: readonly number[];
  readonly objectives: readonly string[];
  readonly stages: readonly string[];
  readonly has_gradients: readonly boolean[];
  readonly has_values?: readonly boolean[];
  readonly loss_scales: readonly WireNumber[];
  readonly skipped: readonly boolean[];
  readonly every_n_steps: readonly number[];
  readonly costs: readonly WireNumber[];
}

export interface HiddenReply {
  readonly run: string; // the name under which it can be requested
  readonly tag: string;
  readonly records: number;
  readonly steps: readonly number[];
  readonly from_step: number;
  readonly text: string;
  readonly cure: string;
}

export interface RunReply {
  readonly run: string;
  readonly warnings: readonly string[];
  readonly hidden?: readonly HiddenReply[];
  readonly tags: readonly TagReply[];
}

export interface RunsReply {
  readonly version: string;
  readonly runs: readonly RunReply[];
}

// Numbers of steps as a whole, by name.
export interface QuantitiesReply {
  readonly quantities: Readonly<
    Record<
      string,
      { readonly steps: readonly number[]; readonly backward_passes: readonly number[]; readonly values: readonly WireNumber[] }
    >
  >;
  readonly missing: Readonly<Record<string, string>>; // names that no record has, and why
}

export interface ArrayHeader {
  readonly name: string;
  readonly dtype: "float64" | "float32" | "uint16" | "uint8";
  readonly shape: readonly number[];
}

// A number as JSON can carry it: non-finite ones are strings.
export type WireNumber = number | "NaN" | "Infinity" | "-Infinity";

export interface WholeReply {
  readonly gradient?: readonly WireNumber[];
  readonly value?: readonly WireNumber[];
}

export interface StepHeader {
  readonly run: string;
  readonly tag: string;
  readonly hash: string;
  readonly step: number;
  readonly backward_pass: number;
  readonly wall_time: number;
  readonly stage: string;
  readonly objective: string;
  readonly rows: number;
  readonly has_gradients: boolean;
  readonly every_n_steps: number;
  readonly unread: readonly (readonly [number, string])[]; // rows that could not be read, and why
  readonly no_optimizer: readonly number[];
  readonly statistics: readonly string[];
  readonly whole: readonly (WholeReply & { readonly row: number })[];
  readonly left_out: { readonly gradient: readonly number[]; readonly value: readonly number[] };
}

export interface TensorHeader {
  readonly row: number;
  readonly what: WhatKept;
  readonly shape: readonly number[];
  readonly dtype: string;
}

export interface SeriesHeader {
  readonly statistic: string;
  readonly rows: number;
  readonly from: number;
  readonly total: number;
  readonly steps: readonly number[];
  readonly backward_passes: readonly number[];
  readonly stages: readonly string[];
  readonly domain: readonly [number, number] | null;
  readonly fences: readonly [number, number] | null;
}

export interface NodeHeader {
  readonly key: string;
  readonly statistics: readonly string[];
  readonly steps: readonly number[];
  readonly backward_passes: readonly number[];
  readonly stages: readonly string[];
  readonly wall_times: readonly number[];
  readonly histogram_low: number;
  readonly histogram_width: number;
  readonly whole: readonly (WholeReply & { readonly record: number })[];
}

export interface Finding {
  readonly severity: Severity;
  readonly kind: string;
  readonly row: number | null;
  readonly node: string;
  readonly text: string;
  readonly advice: string; // of its kind
}

// Another step with findings that the shown one does not have.
export interface Elsewhere {
  readonly step: number;
  readonly backward_pass: number;
  readonly count: number;
  readonly text: string; // of the worst
}

export interface FindingsReply {
  readonly findings: readonly Finding[];
  readonly elsewhere: readonly Elsewhere[];
}

// Of a training as a whole.
export interface RunFindingsReply {
  readonly records: number;
  readonly steps: number;
  readonly healthy: boolean;
  readonly findings: readonly {
    readonly kind: string;
    readonly severity: Severity;
    readonly text: string;
    readonly advice: string;
    readonly key: string;
    readonly module: string;
    readonly first_step: number;
    readonly last_step: number;
    readonly count: number;
    readonly examined: number;
    readonly measure: string;
    readonly numbers: readonly (readonly [number, WireNumber])[];
  }[];
}

export interface FlowHeader {
  readonly statistic: string;
  readonly slots: number;
  readonly from: number;
  readonly total: number;
  readonly steps: readonly number[];
}

export interface ScalarHeader {
  readonly tag: string;
  readonly steps: readonly number[];
}
