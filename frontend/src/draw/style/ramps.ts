// The color scales that can be chosen. In each of them, lightness changes in one direction, away
// from the background. So greater numbers stand out more, in both themes, and also with color
// blindness.

import { colorAt } from "./element_colors";
import { DEFAULT_RAMP, type Ramp } from "./ramp_names";

export const STEPS = 256;

// Seventeen colors of each scale of d3-scale-chromatic. Colors in between differ from d3's by at
// most 5 of 255, and d3's code is not needed.
export const STOPS: Readonly<Record<Ramp, readonly string[]>> = {
  ylgnbu: stops("ffffd9 f6fbc6 eaf7b8 d9f0b3 c1e7b5 a3dbb8 81cebb 61c1bf 45b4c2 30a3c1 248fbd 2077b4 2260a9 234a9d 20378d 162975 081d58"),
  viridis: stops("440154 48186a 472d7b 424086 3b528b 33638d 2c728e 26828e 21918c 1fa088 28ae80 3fbc73 5ec962 84d44b addc30 d8e219 fde725"),
  cividis: stops("002051 012b65 11366c 26426e 3c4d6e 51586e 62646f 727071 7f7c75 8c8877 9a9478 a9a177 bbaf71 cebd68 e2cb5c f3da4f fdea45"),
  grey: stops("ffffff f7f7f7 efefef e4e4e4 d8d8d8 cbcbcb bbbbbb a9a9a9 979797 858585 737373 626262 505050 3b3b3b 262626 131313 000000"),
};

function stops(hex: string): readonly string[] {
  return hex.split(" ").map((color) => `#${color}`);
}

const ramps = new Map<string, readonly string[]>();

export function rampOf(dark: boolean, ramp: Ramp = DEFAULT_RAMP): readonly string[] {
  const key = `${ramp} ${dark}`;
  const known = ramps.get(key) ?? Array.from({ length: STEPS }, (_, i) => colorAt(STOPS[ramp], placeOf(ramp, i / (STEPS - 1), dark)));
  ramps.set(key, known);
  return known;
}

// The part of each scale that differs from the background and from white or black, which mean zero.
function placeOf(ramp: Ramp, t: number, dark: boolean): number {
  if (ramp === "viridis") return dark ? 0.06 + 0.94 * t : 0.96 - 0.96 * t;
  if (ramp === "cividis") return dark ? 0.04 + 0.96 * t : 0.97 - 0.97 * t;
  if (ramp === "grey") return dark ? 0.82 * (1 - t) : 0.22 + 0.78 * t;
  return 0.1 + 0.9 * (dark ? 0.94 * (1 - t) : t);
}
