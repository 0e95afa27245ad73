// The color scales that can be chosen. Lightness changes one way only in each, away from the background: the greater
// the number, the more it stands out, in both themes, and for people who see fewer colors.

import { interpolateCividis, interpolateGreys, interpolateViridis, interpolateYlGnBu } from "d3-scale-chromatic";

export type Ramp = "ylgnbu" | "viridis" | "cividis" | "grey";

export interface RampChoice {
  readonly id: Ramp;
  readonly text: string;
}

export const RAMPS: readonly RampChoice[] = [
  { id: "ylgnbu", text: "Blue to yellow" },
  { id: "viridis", text: "Viridis" },
  { id: "cividis", text: "Cividis" },
  { id: "grey", text: "Grey" },
];

export const DEFAULT_RAMP: Ramp = "ylgnbu";

export function rampNamed(name: string | null | undefined): Ramp | undefined {
  return RAMPS.find(({ id }) => id === name)?.id;
}

export const STEPS = 256;

const ramps = new Map<string, readonly string[]>();

export function rampOf(dark: boolean, ramp: Ramp = DEFAULT_RAMP): readonly string[] {
  const key = `${ramp} ${dark}`;
  const known = ramps.get(key) ?? Array.from({ length: STEPS }, (_, i) => toHex(rampColor(ramp, i / (STEPS - 1), dark)));
  ramps.set(key, known);
  return known;
}

// Of each the part that differs from the background and from white or black, which mean zero.
function rampColor(ramp: Ramp, t: number, dark: boolean): string {
  if (ramp === "viridis") return interpolateViridis(dark ? 0.06 + 0.94 * t : 0.96 - 0.96 * t);
  if (ramp === "cividis") return interpolateCividis(dark ? 0.04 + 0.96 * t : 0.97 - 0.97 * t);
  if (ramp === "grey") return interpolateGreys(dark ? 0.82 * (1 - t) : 0.22 + 0.78 * t);
  return interpolateYlGnBu(0.1 + 0.9 * (dark ? 0.94 * (1 - t) : t));
}

function toHex(color: string): string {
  if (color.startsWith("#")) return color;
  const parts = color.match(/\d+/g) ?? [];
  return `#${parts.slice(0, 3).map((part) => Number(part).toString(16).padStart(2, "0")).join("")}`;
}
