// The lines of the view of charts. Each tensor or quantity has a color and each run a dash; with only one of them, each
// run has a color.

import { FORWARD, OF_PARAMETERS, STAGES } from "../../base/vocabulary";
import type { ChartLine } from "../../draw/charts/chart_line";
import { lineColor, lineDash } from "../../draw/style/line_colors";
import type { Theme } from "../../draw/style/theme";
import { valueScale } from "../../model/flow/scalar_line";
import { spokenIn } from "../../model/recorded/complex";
import { BACKWARD } from "../../model/recorded/run";
import { measureOf } from "../../model/recorded/statistics";
import type { Store } from "../../state/store";
import { pointsOf } from "../chart/lines";
import { nameOfPin } from "../chart/pin_names";
import type { SavedChart } from "../picture/save_chart";
import { chartedPins } from "./charts_actions";
import { drawnRuns, seriesKey, type FetchedCharts } from "./charts_data";
import { quantityIn, type LinePoints } from "./quantity_lines";

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
  readonly canBeLog: boolean;
  readonly log: boolean;
  readonly axis: string;
}

export function entriesOf(charting: FetchedCharts): readonly Entry[] {
  return [
    ...chartedPins(charting).map((pin) => ({ id: pin, pin, quantity: undefined })),
    ...charting.chosen.quantities.value.map((quantity) => ({ id: `\n${quantity}`, pin: undefined, quantity })),
  ];
}

export function drawnLines(charting: FetchedCharts, theme: Theme): Overlaid {
  const { store, chosen } = charting;
  const [entries, runs, of] = [entriesOf(charting), drawnRuns(charting), ofShown(charting)];
  const statistic = spokenIn(store.shown.statistic.value, store.recorded.hierarchy.value?.graph);
  const lines = entries.flatMap((entry, e) =>
    runs.flatMap((run, r): OverlaidLine[] => {
      const found = entry.quantity === undefined ? tensorIn(charting, entry.id, run, of) : quantityIn(charting, entry.quantity, run);
      const look = entries.length > 1 ? { color: lineColor(e, theme), dash: lineDash(r) } : { color: lineColor(r, theme), dash: [] };
      return found === undefined
        ? []
        : [{ id: `${run}\n${entry.id}`, label: entry.quantity ?? entry.id, entry: entry.id, run, ...look, ...found }];
    }),
  );
  const weights = isOfWeights(of);
  const tensors = entries.some(({ pin }) => pin !== undefined);
  const canBeLog = !tensors || weights || statistic.scale === "log";
  const starts = tensors ? weights || (!statistic.signed && statistic.summary === "greatest") : startsLog(lines);
  const log = canBeLog && (chosen.log.value ?? starts) && lines.some(({ values }) => values.some((value) => value !== null && value !== 0));
  return { lines, entries, runs, of, canBeLog, log, axis: tensors && log && !weights && statistic.signed ? `|${statistic.label}|` : "" };
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
  const nameOf = ({ entry, run }: OverlaidLine): string => `${names.get(entry)}${runs.length > 1 ? ` (${run || "."})` : ""}`;
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
