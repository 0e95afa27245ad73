// Converts a ratio to a color: blue below one, orange above. At equal distance both are equally
// light (OKLab), so neither stands out more. They can be told apart with any color blindness.

import { formatCount, formatNumber } from "../../base/format";
import { Relation, type Related } from "../../model/compare/comparison";
import { beyond } from "../../model/compare/middle";
import { colorAt } from "../style/element_colors";
import type { Theme } from "../style/theme";

const LIGHT = ["#2f7ad3", "#629ae1", "#91b9ec", "#c1d7f5", "#f5f5f5", "#edcebc", "#dea888", "#cd8355", "#b95e17"];
const DARK = ["#7cb9f8", "#6693c2", "#506f8e", "#3d4c5c", "#2b2b2b", "#5d4531", "#8e6039", "#c17d41", "#f79c49"];

export function ratioStops(theme: Theme): readonly string[] {
  return theme.dark ? DARK : LIGHT;
}

// `reach` is the log2 of the ratio at which the color is full.
export function ratioColor(log2: number, reach: number, theme: Theme): string {
  return colorAt(ratioStops(theme), (Math.max(-1, Math.min(1, log2 / reach)) + 1) / 2);
}

// One of the two is exactly zero, not only small.
export function isZeroBeside({ relation, log2 }: Related): boolean {
  return relation === Relation.both && Math.abs(log2) === Infinity;
}

export function relatedFill({ relation, log2 }: Related, reach: number, theme: Theme): string {
  if (relation === Relation.both) return ratioColor(log2, reach, theme);
  if (relation === Relation.nonfinite) return theme.nonfinite;
  if (relation === Relation.onlyThere) return theme.background;
  return relation === Relation.onlyHere ? theme.surface : theme.none;
}

const SMALL = 0.1;
const GROUPED_UP_TO = 1e7;

// "×1.52"; from a tenth down "÷10,300". With a minus if the sign changed.
export function factorText(log2: number, changed = false): string {
  const divides = log2 < Math.log2(SMALL);
  const factor = 2 ** (divides ? -log2 : log2);
  const number = factor >= 1000 && factor < GROUPED_UP_TO ? formatCount(Number(factor.toPrecision(4))) : formatNumber(factor);
  return `${divides ? "÷" : "×"}${changed ? "−" : ""}${number}`;
}

// As a factor, or why there is no ratio; undefined if neither has a number.
export function ratioText(related: Related): string | undefined {
  const { relation, log2, here, there } = related;
  if (relation === Relation.none) return undefined;
  if (relation !== Relation.both) return WORDS[relation];
  const mark = beyondMark(related);
  if (here === 0 && log2 === 0) return `both 0${mark}`;
  if (log2 === Infinity) return `×∞${mark}`;
  if (log2 === -Infinity) return `×0${mark}`;
  return factorText(log2, here * there < 0) + mark;
}

export const [ABOVE, BELOW] = ["▲", "▼"];

// Behind a number that is above or below those of all runs of a group.
export function beyondMark({ relation, here, range }: Related): string {
  const side = relation === Relation.both ? beyond(here, range) : 0;
  return side === 0 ? "" : ` ${side > 0 ? ABOVE : BELOW}`;
}

const WORDS: Readonly<Record<Exclude<Relation, 0 | 6>, string>> = {
  [Relation.onlyHere]: "only here",
  [Relation.numberHere]: "none there",
  [Relation.numberThere]: "none here",
  [Relation.nonfinite]: "NaN/inf",
  [Relation.unknown]: "–",
  [Relation.onlyThere]: "only there",
};
