// The findings of a training as a whole, as rows of a list and as bars over its steps.

import type { Severity } from "../../base/vocabulary";

export interface RunFinding {
  readonly kind: string;
  readonly severity: Severity;
  readonly text: string;
  readonly advice: string;
  readonly key: string; // of the node at which it begins; "": none
  readonly module: string; // in which that node is made; "": none
  readonly firstStep: number;
  readonly lastStep: number;
  readonly count: number; // of the examined steps
  readonly examined: number;
  readonly measure: string; // what the numbers are; "": there are none
  readonly numbers: readonly (readonly [step: number, number: number])[];
}

export interface RunFindings {
  readonly records: number; // that were examined
  readonly steps: number;
  readonly healthy: boolean;
  readonly findings: readonly RunFinding[]; // the cause of others first
}

// The same for a finding that lasts, when its numbers and its sentence have changed.
export function nameOf({ kind, key, module, measure }: RunFinding): string {
  return `${kind} ${key || module || measure}`;
}

// Whether something should be done about it.
export function isCause({ severity }: RunFinding): boolean {
  return severity !== "note";
}

export function stepsOf({ firstStep, lastStep }: RunFinding): string {
  return firstStep === lastStep ? `step ${firstStep}` : `steps ${firstStep}–${lastStep}`;
}

// A finding over the steps, from 0 (the first recorded step) to 1 (the last).
export interface Bar {
  readonly finding: RunFinding;
  readonly from: number;
  readonly to: number;
}

const MOST_LANES = 3;
const APART = 0.02; // between two bars of a lane

// Each finding is in the first lane that has room. What has no room is left out: it is in the list.
export function lanesOf(findings: readonly RunFinding[], steps: readonly number[]): readonly (readonly Bar[])[] {
  const lanes: Bar[][] = [];
  for (const finding of findings) {
    const bar = { finding, from: partOf(steps, finding.firstStep), to: partOf(steps, finding.lastStep) };
    const lane = lanes.find((bars) => bars.every(({ from, to }) => to + APART < bar.from || bar.to + APART < from));
    if (lane !== undefined) lane.push(bar);
    else if (lanes.length < MOST_LANES) lanes.push([bar]);
  }
  return lanes;
}

function partOf(steps: readonly number[], step: number): number {
  const at = steps.findIndex((one) => one >= step);
  return (at === -1 ? steps.length - 1 : at) / Math.max(1, steps.length - 1);
}
