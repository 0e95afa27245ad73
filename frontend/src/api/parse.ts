// Converts frames of the routes `step` and `node` to the types of the model.

import { failure, success, type Result } from "../base/result";
import { HISTOGRAM_BINS } from "../base/vocabulary";
import type { RunFindings } from "../model/findings/run_findings";
import type { Quantities } from "../model/flow/scalar_line";
import type { Reading } from "../model/recorded/bad_steps";
import type { RecordedStep, Whole } from "../model/recorded/record";
import { BACKWARD, type RecordRef, type Run } from "../model/recorded/run";
import type {
  NodeHeader,
  QuantitiesReply,
  RunFindingsReply,
  RunsReply,
  SeriesHeader,
  StepHeader,
  TagReply,
  TensorHeader,
  WholeReply,
  WireNumber,
} from "./contract";
import type { Frame } from "./frame";

export interface NodeSeries {
  readonly key: string;
  readonly statistics: readonly string[];
  readonly steps: readonly number[];
  readonly backwardPasses: readonly number[];
  readonly stages: readonly string[];
  readonly values: Float32Array; // [statistics, records]
  readonly present: Uint8Array; // [records]
  readonly histogram: Uint16Array; // [records, HISTOGRAM_BINS]
  readonly histogramLow: number;
  readonly histogramWidth: number;
  readonly whole: ReadonlyMap<number, Whole>; // by record; as many as fit into one answer
}

export function parseRuns(reply: RunsReply): readonly Run[] {
  return reply.runs.map(({ run, warnings, hidden, tags }) => ({
    run,
    warnings: warnings ?? [],
    hidden: (hidden ?? []).map(({ run: name, text, cure }) => ({ run: name, text, cure })),
    tags: tags.map((tag) => ({ tag: tag.tag, hashes: tag.hashes, records: parseRecords(tag) })),
  }));
}

export function parseRunFindings({ findings, ...told }: RunFindingsReply): RunFindings {
  return {
    ...told,
    findings: findings.map(({ first_step: firstStep, last_step: lastStep, numbers, ...rest }) => ({
      ...rest,
      firstStep,
      lastStep,
      numbers: numbers.map(([step, number]) => [step, parseNumber(number)]),
    })),
  };
}

function parseRecords(tag: TagReply): readonly RecordRef[] {
  return tag.steps.map((step, i) => ({
    step,
    backwardPass: tag.backward_passes[i] ?? 0,
    stage: tag.stages[i] ?? BACKWARD,
    wallTime: tag.wall_times[i] ?? NaN,
    hash: tag.hashes[tag.hash_index[i] ?? 0] ?? "",
    objective: tag.objectives[i] ?? "",
    hasGradients: tag.has_gradients[i] ?? false,
    hasValues: tag.has_values?.[i] ?? false,
    lossScale: parseNumber(tag.loss_scales[i] ?? 1),
    skipped: tag.skipped[i] ?? false,
    everyNSteps: tag.every_n_steps[i] ?? 0,
    cost: parseNumber(tag.costs[i] ?? 0),
  }));
}

export function parseRecord({ header, arrays }: Frame<StepHeader>): Result<RecordedStep> {
  const values = arrays.get("values");
  const present = arrays.get("present");
  const expected = header.statistics.length * header.rows;
  if (!(values instanceof Float32Array) || values.length !== expected) {
    return failure(`step: expected ${expected} float32 values, got ${values?.length ?? "none"}.`);
  }
  if (!(present instanceof Uint8Array) || present.length !== header.rows) {
    return failure(`step: expected ${header.rows} marks of presence, got ${present?.length ?? "none"}.`);
  }
  return success({
    run: header.run,
    tag: header.tag,
    hash: header.hash,
    step: header.step,
    backwardPass: header.backward_pass,
    wallTime: header.wall_time,
    stage: header.stage,
    objective: header.objective,
    rows: header.rows,
    hasGradients: header.has_gradients,
    everyNSteps: header.every_n_steps,
    unread: new Map(header.unread),
    noOptimizer: new Set(header.no_optimizer),
    statistics: header.statistics,
    values,
    present,
    whole: new Map(header.whole.map((entry) => [entry.row, parseWhole(entry)])),
    leftOut: { gradient: new Set(header.left_out.gradient), value: new Set(header.left_out.value) },
  });
}

export function parseNodeSeries({ header, arrays }: Frame<NodeHeader>): Result<NodeSeries> {
  const values = arrays.get("values");
  const present = arrays.get("present");
  const histogram = arrays.get("histogram");
  const records = header.steps.length;
  const fits =
    values instanceof Float32Array &&
    values.length === header.statistics.length * records &&
    present instanceof Uint8Array &&
    present.length === records &&
    histogram instanceof Uint16Array &&
    histogram.length === records * HISTOGRAM_BINS;
  if (!fits) return failure(`node: the arrays do not fit ${records} records.`);
  return success({
    key: header.key,
    statistics: header.statistics,
    steps: header.steps,
    backwardPasses: header.backward_passes,
    stages: header.stages,
    values,
    present,
    histogram,
    histogramLow: header.histogram_low,
    histogramWidth: header.histogram_width,
    whole: new Map(header.whole.map((entry) => [entry.record, parseWhole(entry)])),
  });
}

// The index of the record of a series at a step, pass and stage; -1: none.
export function recordIn(series: NodeSeries, place: Pick<RecordRef, "step" | "backwardPass" | "stage"> | undefined): number {
  return series.steps.findIndex(
    (step, i) => step === place?.step && series.backwardPasses[i] === place.backwardPass && series.stages[i] === place.stage,
  );
}

// Steps of a series at which any row is above a limit.
export function readingsAbove({ header, arrays }: Frame<SeriesHeader>, limit: number): readonly Reading[] {
  const values = arrays.get("values") ?? new Float32Array();
  return header.steps.flatMap((step, i) => {
    const above = values.subarray(i * header.rows, (i + 1) * header.rows).some((value) => value > limit);
    return above ? [{ step, stage: header.stages[i]!, backwardPass: header.backward_passes[i]! }] : [];
  });
}

// All elements of one tensor, in row-major order. A complex one gives its real and then its imaginary part.
export function parseTensor({ header, arrays }: Frame<TensorHeader>): Result<readonly number[]> {
  const elements = arrays.get("elements");
  return elements === undefined
    ? failure(`tensor: the ${header.what} of row ${header.row} has no elements.`)
    : success(Array.from(elements));
}

function parseWhole({ gradient, value }: WholeReply): Whole {
  return { gradient: gradient?.map(parseNumber), value: value?.map(parseNumber) };
}

// A step may have several numbers of one name, one for each backward pass.
export function parseQuantities({ quantities, missing }: QuantitiesReply): Quantities {
  const known = new Map(
    Object.entries(quantities).map(([name, { steps, backward_passes: backwardPasses, values }]) => [
      name,
      { steps, backwardPasses, values: values.map(parseNumber) },
    ]),
  );
  return { known, missing: new Map(Object.entries(missing ?? {})) };
}

// JSON has non-finite numbers as strings; Number() reads exactly those.
export function parseNumber(wire: WireNumber): number {
  return Number(wire);
}
