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

// The record at a step and pass; else the nearest one before it; else the first.
export function nearestRecord(records: readonly RecordRef[], step: number, backwardPass: number): number {
  let found = 0;
  records.forEach((record, index) => {
    const notLater = record.step < step || (record.step === step && record.backwardPass <= backwardPass);
    if (notLater) found = index;
  });
  return found;
}

export function distinctSteps(records: readonly RecordRef[]): readonly number[] {
  return records.filter((record, i) => i === 0 || record.step !== records[i - 1]!.step).map(({ step }) => step);
}

export function passesAt(records: readonly RecordRef[], step: number): readonly number[] {
  return records.filter((record) => record.step === step).map(({ backwardPass }) => backwardPass);
}
