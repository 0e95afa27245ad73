// The lines of the view of charts, their looks, and the range of their axis.

import { FORWARD, OF_PARAMETERS, STAGES } from "../../base/vocabulary";
import type { ChartLine } from "../../draw/charts/chart_line";
import { lineColor } from "../../draw/style/line_colors";
import type { Theme } from "../../draw/style/theme";
import { groupRange } from "../../model/charts/group_range";
import { fullRange, robustRange, type AxisRange } from "../../model/charts/robust_range";
import { parametersOf, type OfRuns } from "../../model/charts/run_parameters";
import { valueScale } from "../../model/flow/scalar_line";
import { spokenIn } from "../../model/recorded/complex";
import { BACKWARD, runTitle } from "../../model/recorded/run";
import { measureOf } from "../../model/recorded/statistics";
import type { Store } from "../../state/store";
import { pointsOf } from "../chart/lines";
import { nameOfPin } from "../chart/pin_names";
import type { SavedChart } from "../picture/save_chart";
import { chartedPins } from "./charts_actions";
import { drawnRuns, seriesKey, type FetchedCharts } from "./charts_data";
import { looksOf } from "../chart/line_looks";
import { chartedQuantities, quantityIn, type LinePoints } from "./quantity_lines";

// A tensor, or a number of the step.
export interface Entry {
  readonly id: string; // of a tensor its pin; a quantity's cannot be one
  readonly pin: string | undefined;
  readonly quantity: string | undefined;
}

export interface OverlaidLine extends ChartLine, LinePoints {
  readonly entry: string;
  readonly run: string;
}

export interface Overlaid {
  readonly lines: readonly OverlaidLine[];
  readonly entries: readonly Entry[];
  readonly runs: readonly string[];
  readonly of: string;
  readonly parameters: OfRuns;
  readonly canBeLog: boolean;
  readonly log: boolean;
  readonly range: AxisRange | undefined;
  readonly outliers: AxisRange["cut"]; // lines far away from the others
  readonly axis: string;
}

export function entriesOf(charting: FetchedCharts): readonly Entry[] {
  return [
    ...chartedPins(charting).map((pin) => ({ id: pin, pin, quantity: undefined })),
    ...chartedQuantities(charting).map((quantity) => ({ id: `\n${quantity}`, pin: undefined, quantity })),
  ];
}

export function drawnLines(charting: FetchedCharts, theme: Theme): Overlaid {
  const { store, chosen } = charting;
  const [entries, runs, of] = [entriesOf(charting), drawnRuns(charting), ofShown(charting)];
  const statistic = spokenIn(store.shown.statistic.value, store.recorded.hierarchy.value?.graph);
  const parameters = parametersOf(runs, charting.recordedParameters.value);
  const look = looksOf(chosen.colorBy.value, entries.length, runs, parameters, theme);
  const own = entries.flatMap((entry, e) =>
    runs.flatMap((run, r): OverlaidLine[] => {
      const found = entry.quantity === undefined ? tensorIn(charting, entry.id, run, of) : quantityIn(charting, entry.quantity, run);
      return found === undefined
        ? []
        : [{ id: `${run}\n${entry.id}`, label: entry.quantity ?? entry.id, entry: entry.id, run, ...look(e, r), ...found }];
    }),
  );
  const weights = isOfWeights(of);
  const tensors = entries.some(({ pin }) => pin !== undefined);
  const canBeLog = !tensors || weights || statistic.scale === "log";
  const starts = tensors ? weights || (!statistic.signed && statistic.summary === "greatest") : startsLog(own);
  const log = canBeLog && (chosen.log.value ?? starts) && own.some(({ values }) => values.some((value) => value !== null && value !== 0));
  const lines =
    canBeGrouped(runs) && chosen.grouped.value ? entries.flatMap((entry, e) => grouped(own, entry, e, runs[0]!, log, theme)) : own;
  const [robust, full] = [robustRange(lines, log), fullRange(lines, log)];
  return {
    lines,
    entries,
    runs,
    parameters,
    of,
    canBeLog,
    log,
    range: chosen.outliers.value ? full : robust,
    outliers: robust?.cut ?? [],
    axis: tensors && log && !weights && statistic.signed ? `|${statistic.label}|` : "",
  };
}

// A median needs more than one other run.
export function canBeGrouped(runs: readonly string[]): boolean {
  return runs.length > 2;
}

const OWN_PX = 2.5;
const EDGE_PX = 0.75;

// The shown run's line, and the others as their median between the least and the greatest. On a logarithmic axis, of magnitudes.
function grouped(
  all: readonly OverlaidLine[],
  entry: Entry,
  place: number,
  run: string,
  log: boolean,
  theme: Theme,
): readonly OverlaidLine[] {
  const lines = all.filter((line) => line.entry === entry.id);
  const own = lines.filter((line) => line.run === run);
  const others = lines.filter((line) => line.run !== run && line.problem === undefined);
  const sized = ({ values, ...line }: OverlaidLine): OverlaidLine => ({
    ...line,
    values: log ? values.map((value) => value && Math.abs(value)) : values,
  });
  const { steps, median, low, high } = groupRange(others.map(sized));
  const [color, ofGroup] = [lineColor(2 * place, theme), lineColor(2 * place + 1, theme)];
  const base = { entry: entry.id, label: entry.quantity ?? entry.id, color: ofGroup, steps, problem: undefined, gap: "no number" };
  const nonfinite = new Map(others.flatMap((line) => [...(line.nonfinite ?? [])]));
  const id = (which: string): string => `${which}\n\n${entry.id}`;
  return [
    ...own.map((line) => ({ ...line, color, dash: [], width: OWN_PX })),
    { ...base, id: id("median"), run: `median of ${others.length} others`, values: median, nonfinite, dash: [6, 3] },
    { ...base, id: id("high"), run: "their greatest", values: high, nonfinite: new Map(), width: EDGE_PX, fillTo: id("low") },
    { ...base, id: id("low"), run: "their least", values: low, nonfinite: new Map(), width: EDGE_PX },
  ];
}

function tensorIn({ store, series }: FetchedCharts, pin: string, run: string, of: string): LinePoints | undefined {
  const [half, ref] = [store.place.half.value, store.place.ref.value];
  const reply = series.value.get(seriesKey(run, store.place.tag.value?.tag ?? "", pin, half));
  if (reply === undefined) return undefined;
  if (!reply.ok) return { steps: [], values: [], nonfinite: new Map(), problem: reply.error };
  const line = isOfWeights(of) ? { stage: "applied", columns: [of] } : { stage: of, columns: store.shown.statistic.value.columns };
  const pass = ref !== undefined && (of === FORWARD || of === ref.stage) ? ref.backwardPass : 0;
  return { ...pointsOf(reply.value, line, pass), problem: undefined, ...(half === "value" ? { gap: "not read" } : {}) };
}

// Many of them are positive, and of very different size.
function startsLog(lines: readonly OverlaidLine[]): boolean {
  return valueScale(lines.flatMap(({ values }) => values.filter((value) => value !== null)))?.log ?? false;
}

function isOfWeights(of: string): boolean {
  return OF_PARAMETERS.includes(of);
}

function ofShown({ store, chosen }: FetchedCharts): string {
  const options = optionsFor(store);
  return (options.find(({ id }) => id === chosen.of.value) ?? options.find(({ id }) => id === store.place.ref.value?.stage) ?? options[0])!
    .id;
}

export function nameOfEntry(store: Store, { pin, quantity }: Entry): string {
  return pin === undefined ? (quantity ?? "") : nameOfPin(store, pin);
}

// The lines in the form in which they are saved: their names include the run, if there are several.
export function savedLines({ store, chosen }: FetchedCharts, { lines, entries, runs, of, log, axis }: Overlaid): SavedChart {
  const names = new Map(entries.map((entry) => [entry.id, nameOfEntry(store, entry)]));
  const nameOf = ({ entry, run }: OverlaidLine): string => `${names.get(entry)}${runs.length > 1 ? ` (${runTitle(run)})` : ""}`;
  const tensors = entries.some(({ pin }) => pin !== undefined);
  const option = tensors ? (optionsFor(store).find(({ id }) => id === of)?.text ?? of) : "numbers of the step";
  const number =
    tensors && !isOfWeights(of) ? `: ${axis || spokenIn(store.shown.statistic.value, store.recorded.hierarchy.value?.graph).label}` : "";
  return {
    name: tensors ? of : "step",
    title: `${option[0]!.toUpperCase()}${option.slice(1)}${number}${log ? " (log)" : ""}`,
    log,
    lines: lines.map((line) => ({ ...line, label: nameOf(line) })),
    columns: lines.map(nameOf),
    step: store.place.ref.value?.step,
    smoothing: chosen.smoothing.value,
  };
}

// The lines that the records of the tag have: values, or gradients at the stages that occur, and weight and update of parameters.
export function optionsFor(store: Store): readonly { readonly id: string; readonly text: string }[] {
  if (store.place.half.value === "value") return [{ id: FORWARD, text: "value" }];
  const found = new Set((store.place.tag.value?.records ?? []).map(({ stage }) => stage));
  const stages = STAGES.filter((stage) => found.has(stage));
  return [
    ...(stages.length > 0 ? stages : [BACKWARD]).map((stage) => ({ id: stage, text: `gradient, ${stage}` })),
    ...(found.has("applied") ? OF_PARAMETERS.map((id) => ({ id, text: measureOf(id)!.label })) : []),
  ];
}
