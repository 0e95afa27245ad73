// The lines of the view of charts. Each tensor has a color and each run a dash; with only one tensor, each run has a color.

import { OF_PARAMETERS, STAGES } from "../../base/vocabulary";
import type { ChartLine } from "../../draw/charts/chart_line";
import { lineColor, lineDash } from "../../draw/style/line_colors";
import type { Theme } from "../../draw/style/theme";
import { spokenIn } from "../../model/recorded/complex";
import { BACKWARD } from "../../model/recorded/run";
import { measureOf } from "../../model/recorded/statistics";
import type { Store } from "../../state/store";
import { pointsOf } from "../chart/lines";
import { nameOfPin } from "../chart/pin_names";
import type { SavedChart } from "../picture/save_chart";
import { chartedPins } from "./charts_actions";
import { drawnRuns, seriesKey, type FetchedCharts } from "./charts_data";

export interface OverlaidLine extends ChartLine {
  readonly pin: string;
  readonly run: string;
  readonly problem: string | undefined; // why there is no such line
}

export interface Overlaid {
  readonly lines: readonly OverlaidLine[];
  readonly pins: readonly string[];
  readonly runs: readonly string[];
  readonly of: string;
  readonly canBeLog: boolean;
  readonly log: boolean;
  readonly axis: string;
}

export function drawnLines(charting: FetchedCharts, theme: Theme): Overlaid {
  const { store, chosen } = charting;
  const series = charting.series.value;
  const [pins, runs, tag, statistic] = [
    chartedPins(charting),
    drawnRuns(charting),
    store.place.tag.value?.tag ?? "",
    spokenIn(store.shown.statistic.value, store.recorded.hierarchy.value?.graph),
  ];
  const options = optionsFor(store);
  const of = (options.find(({ id }) => id === chosen.of.value) ??
    options.find(({ id }) => id === store.place.ref.value?.stage) ??
    options[0])!.id;
  const weights = !STAGES.includes(of);
  const line = { stage: weights ? "applied" : of, columns: weights ? [of] : statistic.columns };
  const pass = of === store.place.ref.value?.stage ? store.place.ref.value.backwardPass : 0;
  const lines = pins.flatMap((pin, p) =>
    runs.flatMap((run, r): OverlaidLine[] => {
      const reply = series.get(seriesKey(run, tag, pin));
      if (reply === undefined) return [];
      const look = pins.length > 1 ? { color: lineColor(p, theme), dash: lineDash(r) } : { color: lineColor(r, theme), dash: [] };
      const points = reply.ok ? pointsOf(reply.value, line, pass) : { steps: [], values: [], nonfinite: new Map<number, number>() };
      return [{ id: `${run}\n${pin}`, label: pin, pin, run, problem: reply.ok ? undefined : reply.error, ...look, ...points }];
    }),
  );
  const canBeLog = weights || statistic.scale === "log";
  const starts = weights || (!statistic.signed && statistic.summary === "greatest");
  const log = canBeLog && (chosen.log.value ?? starts) && lines.some(({ values }) => values.some((value) => value !== null && value !== 0));
  return { lines, pins, runs, of, canBeLog, log, axis: log && !weights && statistic.signed ? `|${statistic.label}|` : "" };
}

// The lines in the form in which they are saved: their names include the run, if there are several.
export function savedLines({ store, chosen }: FetchedCharts, { lines, runs, of, log, axis }: Overlaid): SavedChart {
  const nameOf = ({ pin, run }: OverlaidLine): string => `${nameOfPin(store, pin)}${runs.length > 1 ? ` (${run || "."})` : ""}`;
  const option = optionsFor(store).find(({ id }) => id === of)?.text ?? of;
  const number = STAGES.includes(of)
    ? `: ${axis || spokenIn(store.shown.statistic.value, store.recorded.hierarchy.value?.graph).label}`
    : "";
  return {
    name: of,
    title: `${option[0]!.toUpperCase()}${option.slice(1)}${number}${log ? " (log)" : ""}`,
    log,
    lines: lines.map((line) => ({ ...line, label: nameOf(line) })),
    columns: lines.map(nameOf),
    step: store.place.ref.value?.step,
    smoothing: chosen.smoothing.value,
  };
}

// The lines that the records of the tag have: gradients at the stages that occur, and weight and update of parameters.
export function optionsFor(store: Store): readonly { readonly id: string; readonly text: string }[] {
  const found = new Set((store.place.tag.value?.records ?? []).map(({ stage }) => stage));
  const stages = STAGES.filter((stage) => found.has(stage));
  return [
    ...(stages.length > 0 ? stages : [BACKWARD]).map((stage) => ({ id: stage, text: `gradient, ${stage}` })),
    ...(found.has("applied") ? OF_PARAMETERS.map((id) => ({ id, text: measureOf(id)!.label })) : []),
  ];
}
