// The lines that can be drawn over the steps of one row: its gradient at each stage, the weight and
// update of a parameter, its value, and several of these together.

import type { NodeSeries } from "../../api/parse";
import { FORWARD, OF_PARAMETERS } from "../../base/vocabulary";
import { isOfPass } from "../../model/recorded/run";
import { measureOf, type Statistic } from "../../model/recorded/statistics";

export interface Line {
  readonly id: string;
  readonly option: string; // in the list of lines
  readonly title: string; // before "over steps"
  readonly where: string; // after it
  readonly stage: string;
  readonly columns: readonly string[];
  readonly canBeLog: boolean;
  readonly startsLog: boolean;
  readonly signed: boolean;
}

// Lines that are drawn in one chart.
export interface Bundle extends Pick<Line, "id" | "option" | "title" | "where" | "canBeLog" | "startsLog" | "signed"> {
  readonly lines: readonly Line[];
}

export function linesOf(series: NodeSeries, statistic: Statistic): readonly Line[] {
  const present = series.steps.map((_, i) => i).filter((i) => series.present[i] === 1);
  const stages = [...new Set(series.stages)];
  const gradients = stages.filter((stage) => present.some((i) => series.stages[i] === stage));
  const weights = OF_PARAMETERS.filter((name) => present.some((i) => numberIn(series, name, i) !== undefined));
  return [
    ...(gradients.length > 0 ? gradients : stages.slice(0, 1)).map((stage) => gradientLine(stage, statistic, gradients.length > 1)),
    ...weights
      .map((id) => [id, measureOf(id)!.label] as const)
      .map(([id, title]): Line => ({
        id,
        option: title,
        title,
        where: "",
        stage: "applied",
        columns: [id],
        canBeLog: true,
        startsLog: true,
        signed: false,
      })),
  ];
}

// Each line alone, the gradient at all stages, and the norms of gradient, weight and update.
export function bundlesOf(series: NodeSeries, statistic: Statistic, values?: NodeSeries, word = "value"): readonly Bundle[] {
  const lines = linesOf(series, statistic);
  const gradients = lines.filter(({ id, stage }) => id === stage);
  const weights = lines.filter(({ id, stage }) => id !== stage);
  const bundles: Bundle[] = lines.map((line) => ({ ...line, lines: [line] }));
  const [first, last] = [gradients[0], gradients.at(-1)];
  if (first !== undefined && gradients.length > 1) {
    bundles.push({
      ...first,
      id: "every_stage",
      option: "gradient, every stage",
      where: ", every stage",
      lines: gradients.map((line) => ({ ...line, option: line.stage })),
    });
  }
  if (last !== undefined && weights.length > 0) {
    const norm: Line = { ...last, id: "gradient_norm", option: "gradient norm", ...NORM };
    bundles.push({
      ...norm,
      id: "norms",
      option: "gradient, weight, update",
      title: "Gradient, weight and update",
      where: "",
      lines: [norm, ...weights],
    });
  }
  if (values === undefined) return bundles;
  const line: Line = { ...gradientLine(FORWARD, statistic, true), option: word, title: `${statistic.label} of the ${word}`, where: "" };
  if (last === undefined) return [...bundles, { ...line, lines: [line] }];
  const [value, gradient] = [line, last].map((one): Line => ({ ...one, option: `${one === line ? word : "gradient"} norm`, ...NORM }));
  const both = {
    ...value!,
    id: "both",
    option: `${word} and gradient`,
    title: `L2 norms of ${word} and gradient`,
    lines: [value!, gradient!],
  };
  return [...bundles, { ...line, lines: [line] }, both];
}

const NORM = { columns: ["l2_norm"], canBeLog: true, startsLog: true, signed: false };

function gradientLine(stage: string, statistic: Statistic, several: boolean): Line {
  // A share is between 0 and 1, and is often exactly one of these.
  const canBeLog = statistic.scale === "log";
  return {
    id: stage,
    option: `gradient, ${stage}`,
    title: `${statistic.label}${several ? " of the gradient" : ""}`,
    where: several ? `, ${stage}` : "",
    stage,
    columns: statistic.columns,
    canBeLog,
    // Signs and counts (which are mostly zero) cannot be shown on a logarithmic axis.
    startsLog: canBeLog && !statistic.signed && statistic.summary === "greatest",
    signed: statistic.signed,
  };
}

export interface Points {
  readonly steps: readonly number[];
  readonly values: readonly (number | null)[];
  readonly nonfinite: ReadonlyMap<number, number>;
}

// One point for each step. At later stages a step has one record. At the stages backward and forward it has one for each pass.
export function pointsOf(series: NodeSeries, line: Pick<Line, "stage" | "columns">, backwardPass: number): Points {
  const chosen = series.steps
    .map((_, i) => i)
    .filter((i) => series.stages[i] === line.stage && (!isOfPass(line.stage) || series.backwardPasses[i] === backwardPass));
  const ofWeights = OF_PARAMETERS.some((name) => line.columns.includes(name));
  const nonfinite = ofWeights
    ? []
    : chosen.flatMap((i): [number, number][] => {
        const kind = nonfiniteIn(series, i);
        return kind === undefined ? [] : [[series.steps[i]!, kind]];
      });
  return {
    steps: chosen.map((i) => series.steps[i]!),
    values: chosen.map((i) => sumIn(series, line.columns, i)),
    nonfinite: new Map(nonfinite),
  };
}

function sumIn(series: NodeSeries, columns: readonly string[], record: number): number | null {
  const numbers = columns.map((column) => numberIn(series, column, record));
  return numbers.length === 0 || numbers.includes(undefined) ? null : numbers.reduce<number>((sum, one) => sum + one!, 0);
}

// NaN, or the infinity among the elements of one record.
export function nonfiniteIn(series: NodeSeries, record: number): number | undefined {
  return (
    [
      ["nan", NaN],
      ["posinf", Infinity],
      ["neginf", -Infinity],
    ] as const
  ).find(([name]) => (numberIn(series, name, record) ?? 0) > 0)?.[1];
}

// The number of one record, or undefined if there is none.
export function numberIn(series: NodeSeries, statistic: string, record: number): number | undefined {
  const column = series.statistics.indexOf(statistic);
  if (column === -1 || series.present[record] !== 1) return undefined;
  const value = series.values[column * series.steps.length + record]!;
  return Number.isNaN(value) ? undefined : value;
}
