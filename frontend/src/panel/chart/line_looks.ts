// The colors and dashes of lines: by tensor, by run, or by a hyperparameter of the runs.

import { rampOf } from "../../draw/style/color_scale";
import { DASH_COUNT, LINE_COLOR_COUNT, lineColor, lineDash } from "../../draw/style/line_colors";
import type { Theme } from "../../draw/style/theme";
import { levelsOf, type Level, type OfRuns } from "../../model/charts/run_parameters";

export interface Look {
  readonly color: string;
  readonly dash: readonly number[];
}

export const BY_RUN = "run";
export const BY_TENSOR = "tensor";
const BY_PARAMETER = "="; // followed by its name

export function byParameter(name: string): string {
  return BY_PARAMETER + name;
}

// The chosen hyperparameter, if any.
export function parameterIn(colorBy: string | undefined): string | undefined {
  return colorBy?.startsWith(BY_PARAMETER) ? colorBy.slice(BY_PARAMETER.length) : undefined;
}

// What has a color while nothing is chosen: of few runs each tensor, so that dashes tell the runs apart.
export function colorsOf(colorBy: string | undefined, entries: number, runs: number): string {
  return colorBy ?? (entries > 1 && runs <= DASH_COUNT ? BY_TENSOR : BY_RUN);
}

export interface LevelColor extends Level {
  readonly color: string;
}

export function levelColors(name: string, runs: readonly string[], of: OfRuns, theme: Theme): readonly LevelColor[] {
  const ramp = rampOf(theme.dark, theme.ramp);
  return levelsOf(name, runs, of).map((level, i) => ({
    ...level,
    color: level.value === undefined ? theme.inkSoft : level.part === undefined ? lineColor(i, theme) : ramp[rampPlace(level.part, ramp)]!,
  }));
}

// The palest quarter of the scale is too close to the background for a thin line.
function rampPlace(part: number, ramp: readonly string[]): number {
  return Math.round((0.25 + 0.75 * part) * (ramp.length - 1));
}

// The look of a line, by the places of its entry and its run.
export function looksOf(
  colorBy: string | undefined,
  entries: number,
  runs: readonly string[],
  of: OfRuns,
  theme: Theme,
): (entry: number, run: number) => Look {
  const name = parameterIn(colorBy);
  if (name !== undefined) {
    const colors = new Map(levelColors(name, runs, of, theme).map(({ value, color }) => [value, color]));
    return (entry, run) => ({ color: colors.get(of.get(runs[run]!)?.get(name)) ?? theme.inkSoft, dash: lineDash(entry) });
  }
  if (colorsOf(colorBy, entries, runs.length) === BY_TENSOR)
    return (entry, run) => ({ color: lineColor(entry, theme), dash: lineDash(run) });
  // Of a single tensor, the runs beyond the colors differ by dashes too.
  return (entry, run) => ({ color: lineColor(run, theme), dash: lineDash(entries > 1 ? entry : Math.floor(run / LINE_COLOR_COUNT)) });
}
