// Runs, their tags, and the records of a tag in order.

export interface RecordRef {
  readonly step: number;
  readonly backwardPass: number;
  readonly wallTime: number;
  readonly hash: string;
  readonly objective: string;
  readonly hasGradients: boolean;
}

export interface Tag {
  readonly tag: string;
  readonly hashes: readonly string[];
  readonly records: readonly RecordRef[]; // by step, then backward pass
}

export interface Run {
  readonly run: string;
  readonly warnings: readonly string[];
  readonly tags: readonly Tag[];
}

// The record at a step and pass; else the nearest one, the earlier of two equally near.
export function nearestRecord(records: readonly RecordRef[], step: number, backwardPass: number): number {
  let [found, steps, passes] = [0, Infinity, Infinity];
  records.forEach((record, index) => {
    const stepsAway = Math.abs(record.step - step);
    const passesAway = Math.abs(record.backwardPass - backwardPass);
    if (stepsAway < steps || (stepsAway === steps && passesAway < passes)) [found, steps, passes] = [index, stepsAway, passesAway];
  });
  return found;
}

// Where somebody stands among the records of a tag: at a step, and perhaps at the end of them.
export interface Standing {
  readonly step: number;
  readonly backwardPass: number;
  readonly atLastStep: boolean;
  readonly atLastRecord: boolean;
}

export function standingAt(records: readonly RecordRef[], ref: RecordRef | undefined): Standing | undefined {
  if (ref === undefined) return undefined;
  const last = records[records.length - 1];
  return {
    step: ref.step,
    backwardPass: ref.backwardPass,
    atLastStep: ref.step === last?.step,
    atLastRecord: ref === last,
  };
}

// The same place among other records: at the end where it was the end, else the same step or the nearest.
export function samePlace(records: readonly RecordRef[], standing: Standing | undefined): number {
  const last = records[records.length - 1];
  if (last === undefined) return 0;
  if (standing === undefined || standing.atLastRecord) return records.length - 1;
  return nearestRecord(records, standing.atLastStep ? last.step : standing.step, standing.backwardPass);
}

export function distinctSteps(records: readonly RecordRef[]): readonly number[] {
  return records.filter((record, i) => i === 0 || record.step !== records[i - 1]!.step).map(({ step }) => step);
}

export function passesAt(records: readonly RecordRef[], step: number): readonly number[] {
  return records.filter((record) => record.step === step).map(({ backwardPass }) => backwardPass);
}
