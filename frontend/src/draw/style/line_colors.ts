// Colors for lines of charts. Magenta is not used, because it means NaN or infinity.

import type { Theme } from "./theme";

const LIGHT = ["#3056d3", "#d9730d", "#0d8f80", "#7c3aed", "#b3261e", "#7a8512", "#0b8ec4", "#8a5a2b", "#56616f", "#c0627f"];
const DARK = ["#7ea2ff", "#f0964a", "#35cdb9", "#bd9dff", "#ff7b72", "#c5d04f", "#4cc3f5", "#d1a373", "#a8b3c4", "#f0a8c0"];
const DASHES: readonly (readonly number[])[] = [[], [7, 4], [2, 3], [10, 3, 2, 3], [4, 2]];

export function lineColor(index: number, theme: Theme): string {
  const colors = theme.dark ? DARK : LIGHT;
  return colors[index % colors.length]!;
}

export function lineDash(index: number): readonly number[] {
  return DASHES[index % DASHES.length]!;
}

export const LINE_COLOR_COUNT = LIGHT.length;
export const DASH_COUNT = DASHES.length;
