// Constants that Python and the panel share. Generated: python -m tests.suite.generate_vocabulary

export type Unit = "gradient" | "weight" | "moment" | "count" | "share" | "ratio";
// One statistic: statistics.py says what each field means.
export interface Measure {
  readonly name: string;
  readonly label: string;
  readonly meaning: string;
  readonly unit: Unit;
  readonly isSigned?: true;
  readonly isElement?: true;
  readonly ofMagnitudes?: true;
  readonly ofParameters?: true;
  readonly ofValues?: true;
  readonly isDrawn?: true;
}

export const MEASURES: readonly Measure[] = [
  { name: "l2_norm", label: "L2 norm", meaning: "Square root of the sum of squares", unit: "gradient", isElement: true, isDrawn: true },
  { name: "mean", label: "mean", meaning: "Mean of the elements", unit: "gradient", isSigned: true, isElement: true, ofMagnitudes: true, isDrawn: true },
  { name: "std", label: "std", meaning: "Standard deviation of the elements", unit: "gradient", ofMagnitudes: true, isDrawn: true },
  { name: "min", label: "min", meaning: "Least element", unit: "gradient", isSigned: true, isElement: true, ofMagnitudes: true, isDrawn: true },
  { name: "max", label: "max", meaning: "Greatest element", unit: "gradient", isSigned: true, isElement: true, ofMagnitudes: true, isDrawn: true },
  { name: "abs_max", label: "abs max", meaning: "Greatest magnitude of an element", unit: "gradient", isElement: true, isDrawn: true },
  { name: "zero_fraction", label: "zero fraction", meaning: "Part of the elements that are exactly zero", unit: "share", isDrawn: true },
  { name: "nan", label: "NaN", meaning: "Elements that are NaN", unit: "count", isDrawn: true },
  { name: "posinf", label: "+inf", meaning: "Elements that are +infinity", unit: "count", isDrawn: true },
  { name: "neginf", label: "−inf", meaning: "Elements that are −infinity", unit: "count", isDrawn: true },
  { name: "numel", label: "elements", meaning: "How many elements there are", unit: "count" },
  { name: "weight_norm", label: "weight norm", meaning: "L2 norm of the parameter before the optimizer's step", unit: "weight", ofParameters: true },
  { name: "update_norm", label: "update norm", meaning: "L2 norm of what the step added to it", unit: "weight", ofParameters: true },
  { name: "update_ratio", label: "update / weight", meaning: "update norm divided by weight norm: about 0.001 is usual; far more is unstable, far less learns nothing", unit: "ratio", ofParameters: true },
  { name: "update_spread", label: "update_spread", meaning: "Standard error of the update norm, where that is an estimate", unit: "weight", ofParameters: true },
  { name: "exp_avg_norm", label: "first moment", meaning: "L2 norm of Adam's running mean of the gradient (exp_avg), after the step", unit: "moment", ofParameters: true },
  { name: "exp_avg_sq_norm", label: "second moment", meaning: "L2 norm of Adam's running mean of the squared gradient (exp_avg_sq), after the step", unit: "moment", ofParameters: true },
  { name: "zero_units", label: "zero units", meaning: "Part of the units (features, or channels) that are zero for the whole batch", unit: "share", ofValues: true, isDrawn: true },
  { name: "saturated", label: "saturated", meaning: "Part of the elements within 1 % of the ends of what a sigmoid, tanh, softmax or hardtanh can give", unit: "share", ofValues: true, isDrawn: true },
  { name: "entropy", label: "entropy", meaning: "Mean entropy of a softmax, as a part of its maximum: 0 is one choice, 1 is none", unit: "share", ofValues: true, isDrawn: true },
];

// Whole numbers; counts of elements that are not finite; numbers of a parameter at the stage "applied".
export const COUNTS: readonly string[] = ["nan", "posinf", "neginf", "numel"];
export const NONFINITE: readonly string[] = ["nan", "posinf", "neginf"];
export const OF_PARAMETERS: readonly string[] = ["weight_norm", "update_norm", "update_ratio", "exp_avg_norm", "exp_avg_sq_norm"];

// Where in a step gradients are read, in the order in which they change.
export const STAGES: readonly string[] = ["backward", "accumulated", "unscaled", "clipped", "applied"];
// The stage of values: of what the forward before a backward computed with and made.
export const FORWARD = "forward";

// Bins of a histogram, and the maximum number of elements of a tensor that it counts.
export const HISTOGRAM_BINS = 32;
export const HISTOGRAM_SAMPLE = 4096;
// A tensor of at most this many elements is kept whole.
export const WHOLE_LIMIT = 16;
// The maximum number of values of a series that are fetched to mark steps: 4 MB.
export const MOST_SEARCHED = 1000000;

export type NodeKind = "operation" | "parameter" | "leaf" | "input" | "buffer" | "constant" | "root";
// The labels of kinds, if they differ from the kind itself.
export const KIND_LABELS: Readonly<Record<string, string>> = { root: "loss or output" };

// Why no gradient can arrive, as a short label for a box.
export const REASON_LABELS: Readonly<Record<string, string>> = { frozen: "frozen", unused: "unused", no_grad: "under no_grad", cut: "cut off", not_in_loss: "not in loss" };

export const NO_SCOPE = -1;

// The state of a tensor at a step in the heat map.
export const Arrived = { none: 0, arrived: 1, nonfinite: 2 } as const;

export type WhatKept = "gradient" | "value";

export type Severity = "error" | "warning" | "note";
// The worst first.
export const SEVERITIES: readonly Severity[] = ["error", "warning", "note"];
