// Converts a number to a color.

import type { Domain, Magnitudes, Statistic } from "../../model/recorded/statistics";
import { State } from "../../model/visible/values";
import { rampOf, STEPS } from "./ramps";
import type { Theme } from "./theme";

export { rampOf } from "./ramps";

export interface ColorScale {
  // Ends of the ramp, in the statistic's unit.
  readonly domain: Domain;
  // Whether there are numbers beyond the lower and the upper end. They get the color of that end.
  readonly below: boolean;
  readonly above: boolean;
  // 0..1 along the ramp, clamped.
  position(value: number): number;
  fill(value: number, state: State): string;
}

// A domain of less than one decade is widened, so that rounding noise does not look like contrast.
// Outliers do not stretch the scale: they share the color of an end.
export function makeScale(statistic: Statistic, found: Magnitudes | undefined, theme: Theme): ColorScale {
  const all = found?.domain;
  const ends: Domain =
    statistic.scale === "unit" ? [0, 1] : widen(found === undefined ? (statistic.summary === "sum" ? [1, 10] : [1e-3, 1]) : within(found));
  const low = Math.log10(ends[0]);
  const span = Math.log10(ends[1]) - low;
  const position = (value: number): number => {
    const t = statistic.scale === "unit" ? value : (Math.log10(Math.abs(value)) - low) / span;
    return Math.max(0, Math.min(1, t));
  };
  const ramp = rampOf(theme.dark, theme.ramp);
  return {
    domain: ends,
    below: statistic.scale !== "unit" && all !== undefined && all[0] < ends[0],
    above: statistic.scale !== "unit" && all !== undefined && all[1] > ends[1],
    position,
    fill: (value, state) => {
      if (state === State.nonfinite) return theme.nonfinite;
      if (state === State.zero) return theme.zero;
      if (state === State.number) return ramp[Math.round(position(value) * (STEPS - 1))]!;
      return theme.none;
    },
  };
}

// The scale covers at most this many decades below the greatest number. Otherwise a single
// underflow would give everything else one color.
const MOST_DECADES = 10;

function within({ domain: [least, most], fences: [low, high] }: Magnitudes): Domain {
  return [Math.max(least, low), Math.min(most, high)];
}

function widen([least, high]: Domain): Domain {
  const low = Math.max(least, high / 10 ** MOST_DECADES);
  const factor = Math.sqrt(Math.max(1, 10 / (high / low)));
  return [low / factor, high * factor];
}

// W3C relative luminance of "#rrggbb".
export function luminance(hex: string): number {
  const channel = (at: number): number => {
    const c = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

// The text color, of two, with more contrast to the fill.
export function inkOn(fill: string, theme: Theme): string {
  const light = luminance(fill);
  const white = 1.05 / (light + 0.05);
  const black = (light + 0.05) / (luminance(theme.inkOnLight) + 0.05);
  return white > black ? theme.inkOnDark : theme.inkOnLight;
}
