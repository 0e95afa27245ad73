// Cells as codes, ordered by what wins where several share a pixel: a NaN is never hidden, then the greatest number.

import type { Flow } from "../model/flow";
import { State } from "../model/values";
import { rampOf, type ColorScale } from "./color_scale";
import { rgbOf } from "./element_colors";
import type { Theme } from "./theme";

export const NOTHING = 0; // the row of an open module
export const NONE = 1;
const ZERO = 2;
const FIRST = 3;
const STEPS = 256;
const NONFINITE = FIRST + STEPS;

// [entities, steps], as the flow.
export function codesOf({ value, state }: Flow, scale: ColorScale): Uint16Array {
  const codes = new Uint16Array(state.length);
  for (let at = 0; at < state.length; at++) codes[at] = codeOf(value[at]!, state[at]! as State, scale);
  return codes;
}

function codeOf(value: number, state: State, scale: ColorScale): number {
  if (state === State.number) return FIRST + Math.round(scale.position(value) * (STEPS - 1));
  if (state === State.nonfinite) return NONFINITE;
  return state === State.zero ? ZERO : NONE;
}

// By code, as the pixels of an ImageData: little-endian ABGR. One more entry is the line of the hatching.
export function paletteOf(theme: Theme): Uint32Array {
  const colors = [theme.background, theme.none, theme.zero, ...rampOf(theme.dark, theme.ramp), theme.nonfinite, theme.noneLine];
  return Uint32Array.from(colors, pixelOf);
}

export const HATCH = NONFINITE + 1;

function pixelOf(hex: string): number {
  const [red, green, blue] = rgbOf(hex);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}
