// Runs, their tags, and the records of a tag in order.

import { FORWARD, STAGES } from "../../base/vocabulary";

export const BACKWARD = STAGES[0]!;

export interface RecordRef {
  readonly step: number;
  readonly backwardPass: number;
  readonly stage: string;
  readonly wallTime: number;
  readonly hash: string;
  readonly objective: string;
  readonly hasGradients: boolean;
  readonly hasValues: boolean; // of the forward before it: they are read at the stage "forward"
  readonly lossScale: number; // a GradScaler's factor on the loss, divided out of all numbers
  readonly skipped: boolean; // the scaler skipped the optimizer's step
  readonly everyNSteps: number; // 0: unknown
  readonly cost: number; // share of the time that recording took; 0: unknown
}

export interface Tag {
  readonly tag: string;
  readonly hashes: readonly string[];
  readonly records: readonly RecordRef[]; // by step, then stage, then backward pass
}

// Records of an earlier session that a later one replaces.
export interface HiddenSession {
  readonly run: string; // the run that shows them, if sessions are shown
  readonly text: string;
  readonly cure: string;
}

export interface Run {
  readonly run: string;
  readonly warnings: readonly string[];
  readonly hidden?: readonly HiddenSession[];
  readonly tags: readonly Tag[];
}

// The name of a run as it is written. TensorBoard calls the run of the log directory itself ".".
export function runTitle(run: string | undefined): string {
  return run === undefined || run === "" || run === "." ? "(root)" : run;
}

const OF_RANK = /^(?:(.*)\/)?ranks\/(0|[1-9]\d*)$/s;

// The run that a graph belongs to, if it is that of one process of a training, whose graph says which part
// of each tensor the process has; "" for other runs, which share a graph of the same structure.
export function graphOwner(run: string): string {
  return OF_RANK.test(run) ? run : "";
}

// The run of a training of several processes, if a run is that of one of them.
export function wholeOf(run: string, runs: readonly Run[]): { readonly whole: string; readonly rank: number } | undefined {
  const found = OF_RANK.exec(run);
  const whole = found === null ? undefined : (found[1] ?? ".");
  return whole !== undefined && runs.some((one) => one.run === whole) ? { whole, rank: Number(found![2]) } : undefined;
}

// The runs of single processes of a training, by rank.
export function ranksOf(whole: string, runs: readonly Run[]): readonly { readonly run: string; readonly rank: number }[] {
  const found = runs.flatMap(({ run }) => {
    const of = wholeOf(run, runs);
    return of?.whole === whole ? [{ run, rank: of.rank }] : [];
  });
  return found.sort((a, b) => a.rank - b.rank);
}

// A step has one record for each backward pass; at later stages it has one in all.
export function isOfPass(stage: string): boolean {
  return stage === BACKWARD || stage === FORWARD;
}

const forwards = new WeakMap<RecordRef, RecordRef>();

// The record of values beside a record of gradients; undefined: none was recorded.
export function valuesBeside(ref: RecordRef): RecordRef | undefined {
  if (!ref.hasValues) return undefined;
  const known = forwards.get(ref) ?? { ...ref, stage: FORWARD };
  forwards.set(ref, known);
  return known;
}

// The record at a step, stage and pass, or else the nearest one. Of two equally near ones, the earlier.
export function nearestRecord(records: readonly RecordRef[], step: number, backwardPass: number, stage = BACKWARD): number {
  let [found, nearest] = [0, [Infinity, Infinity, Infinity]];
  records.forEach((record, index) => {
    const away = [Math.abs(record.step - step), stagesBetween(record.stage, stage), Math.abs(record.backwardPass - backwardPass)];
    const differs = away.findIndex((one, i) => one !== nearest[i]);
    if (differs !== -1 && away[differs]! < nearest[differs]!) [found, nearest] = [index, away];
  });
  return found;
}

function stagesBetween(one: string, other: string): number {
  if (one === other) return 0;
  const [first, second] = [STAGES.indexOf(one), STAGES.indexOf(other)];
  return first === -1 || second === -1 ? STAGES.length : Math.abs(first - second);
}

// The last pass of the last step, at a stage or at the nearest one.
export function lastRecord(records: readonly RecordRef[], stage = BACKWARD): number {
  return nearestRecord(records, records.at(-1)?.step ?? 0, Number.MAX_SAFE_INTEGER, stage);
}

// The place among the records of a tag: a step, and whether it is the last one.
export interface Standing {
  readonly step: number;
  readonly backwardPass: number;
  readonly stage: string; // the requested one; not every step has it
  readonly atLastStep: boolean;
  readonly atLastRecord: boolean;
}

export function standingAt(records: readonly RecordRef[], ref: RecordRef | undefined, stage: string): Standing | undefined {
  if (ref === undefined) return undefined;
  return {
    step: ref.step,
    backwardPass: ref.backwardPass,
    stage,
    atLastStep: ref.step === records.at(-1)?.step,
    atLastRecord: ref === records[lastRecord(records, stage)],
  };
}

// The same place among other records: the end if it was the end, or else the same or the nearest step.
export function samePlace(records: readonly RecordRef[], standing: Standing | undefined): number {
  const last = records.at(-1);
  if (last === undefined) return 0;
  if (standing === undefined || standing.atLastRecord) return lastRecord(records, standing?.stage);
  return nearestRecord(records, standing.atLastStep ? last.step : standing.step, standing.backwardPass, standing.stage);
}

export function distinctSteps(records: readonly RecordRef[]): readonly number[] {
  return records.filter((record, i) => i === 0 || record.step !== records[i - 1]!.step).map(({ step }) => step);
}

const MOST_RANGES = 3;

// The steps that have a graph, as "120" or "0–110, 130–190": ranges of recorded steps.
export function stepsWith(records: readonly RecordRef[], hash: string): string {
  const found = new Set(records.filter((record) => record.hash === hash).map(({ step }) => step));
  const ranges: [number, number][] = [];
  let before = false;
  for (const step of distinctSteps(records)) {
    const has = found.has(step);
    if (has && before) ranges.at(-1)![1] = step;
    else if (has) ranges.push([step, step]);
    before = has;
  }
  const texts = ranges.slice(0, MOST_RANGES).map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`));
  return [...texts, ...(ranges.length > MOST_RANGES ? ["…"] : [])].join(", ");
}

// How often steps were recorded at the end; 0: unknown.
export function cadenceOf(records: readonly RecordRef[]): number {
  return records.findLast(({ everyNSteps }) => everyNSteps > 0)?.everyNSteps ?? 0;
}

// How often steps were recorded before, if that was different, and at which step it changed.
export function cadenceBefore(
  records: readonly RecordRef[],
  shown: RecordRef,
): { readonly everyNSteps: number; readonly until: number } | undefined {
  const known = records.filter(({ step, everyNSteps }) => everyNSteps > 0 && step <= shown.step);
  const at = known.findLastIndex(({ everyNSteps }) => everyNSteps !== shown.everyNSteps);
  return at === -1 ? undefined : { everyNSteps: known[at]!.everyNSteps, until: known[at + 1]?.step ?? shown.step };
}

export function passesAt(records: readonly RecordRef[], step: number, stage: string): readonly number[] {
  return records.filter((record) => record.step === step && record.stage === stage).map(({ backwardPass }) => backwardPass);
}

export function stagesAt(records: readonly RecordRef[], step: number): readonly string[] {
  return [...new Set(records.filter((record) => record.step === step).map(({ stage }) => stage))];
}

// The record that follows when the step moves on.
export function nextRecord(records: readonly RecordRef[], ref: RecordRef): RecordRef | undefined {
  return records.find(
    ({ step, stage, backwardPass }) => step > ref.step && stage === ref.stage && (stage !== BACKWARD || backwardPass === ref.backwardPass),
  );
}

// Changes when records were added, or recorded again after a restart.
export function lengthOf({ records }: Tag): string {
  return `${records.length} ${records.at(-1)?.wallTime}`;
}
