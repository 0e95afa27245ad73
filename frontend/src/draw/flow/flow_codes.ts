// Codes of cells. If several cells share a pixel, the greatest code is shown: NaN first, then the greatest number.

import { Relation } from "../../model/compare/comparison";
import { beyondAt, type ComparedFlow } from "../../model/flow/flow_compared";
import type { Half } from "../../model/recorded/record";
import { State, type Values } from "../../model/visible/values";
import { ratioColor } from "../compare/ratio_scale";
import { rampOf, type ColorScale } from "../style/color_scale";
import { rgbOf } from "../style/element_colors";
import type { Theme } from "../style/theme";

export const NOTHING = 0; // the row of an open module
export const NONE = 1;
export const UNKNOWN = 2; // something arrived, but it has no such number: plain, as in the graph
const ZERO = 3;
const FIRST = 4;
const STEPS = 256;
const NONFINITE = FIRST + STEPS;

// [entities, steps], like the flow.
export function codesOf({ value, state }: Values, scale: ColorScale): Uint16Array {
  const codes = new Uint16Array(state.length);
  const colorOf = quickColors(value, scale);
  for (let at = 0; at < state.length; at++)
    codes[at] = state[at] === State.number ? FIRST + colorOf(at) : codeOf(value[at]!, state[at]! as State, scale);
  return codes;
}

const DIFFERENT = -1;

// The place on the scale of the number at a position, without a logarithm for most of them: numbers with the same
// upper half of their bits are so close that nearly always they have one color. Where they do not, each is computed.
function quickColors(numbers: Float32Array, scale: ColorScale): (at: number) => number {
  const colorOf = (value: number): number => Math.round(scale.position(value) * (STEPS - 1));
  const bits = new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length);
  const known = new Int16Array(1 << 16); // by upper half, 1 greater than the color; 0: not computed yet
  const ends = new Float32Array(2);
  const bitsOfEnds = new Uint32Array(ends.buffer);
  const find = (upper: number): number => {
    bitsOfEnds.set([upper << 16, (upper << 16) | 0xffff]);
    const [low, high] = [colorOf(ends[0]!), colorOf(ends[1]!)];
    return (known[upper] = low === high ? low + 1 : DIFFERENT);
  };
  return (at) => {
    const upper = bits[at]! >>> 16;
    const color = known[upper]! || find(upper);
    return color === DIFFERENT ? colorOf(numbers[at]!) : color - 1;
  };
}

function codeOf(value: number, state: State, scale: ColorScale): number {
  if (state === State.number) return FIRST + Math.round(scale.position(value) * (STEPS - 1));
  if (state === State.nonfinite) return NONFINITE;
  return state === State.zero ? ZERO : state === State.unknown ? UNKNOWN : NONE;
}

// The same for a comparison: cells without a ratio, then ratios (the farther from one, the greater the code), then NaN.
const ONLY_HERE = 3;
const ONLY_THERE = 4;
const FIRST_RATIO = 5;
const RATIOS = 128; // in each direction
const KINDS = 4; // of each: greater or smaller here, and each of them within the range of the runs there or beyond it
// Exactly zero on one side.
const ZERO_THERE = FIRST_RATIO + KINDS * RATIOS;
const ZERO_HERE = ZERO_THERE + 1;
const BAD_RATIO = ZERO_HERE + 1;

export function comparedCodesOf(flow: ComparedFlow, reach: number): Uint16Array {
  const { relation, log2 } = flow;
  const codes = new Uint16Array(relation.length);
  for (let at = 0; at < codes.length; at++) codes[at] = ratioCode(relation[at]! as Relation, log2[at]! / reach, beyondAt(flow, at) !== 0);
  return codes;
}

function ratioCode(relation: Relation, part: number, isBeyond: boolean): number {
  if (relation === Relation.both && Math.abs(part) === Infinity) return part < 0 ? ZERO_HERE : ZERO_THERE;
  if (relation === Relation.both) {
    const size = Math.round(Math.min(1, Math.abs(part)) * (RATIOS - 1));
    return FIRST_RATIO + KINDS * size + (isBeyond ? 2 : 0) + (part < 0 ? 1 : 0);
  }
  if (relation === Relation.nonfinite) return BAD_RATIO;
  if (relation === Relation.onlyHere) return ONLY_HERE;
  if (relation === Relation.unknown) return UNKNOWN;
  return relation === Relation.onlyThere ? ONLY_THERE : NONE;
}

// By code, as the pixels of an ImageData, little-endian ABGR.
export interface Palette {
  readonly colors: Uint32Array;
  readonly lines: Uint32Array; // the color of a hatching or of dots over it
  readonly lean: Int8Array; // the direction of these lines, 1 or -1, or DOTS; 0: none
}

export const DOTS = 2;
type Lean = 1 | -1 | typeof DOTS;

// As in the graph: no gradient is hatched, a value that was not read is dotted.
function noneLean(half: Half): Lean {
  return half === "value" ? DOTS : 1;
}

export function paletteOf(theme: Theme, half: Half): Palette {
  return hatched(
    [theme.background, theme.none, theme.none, theme.zero, ...rampOf(theme.dark, theme.ramp), theme.nonfinite],
    [[NONE, noneLean(half), theme.noneLine]],
  );
}

export function ratioPaletteOf(theme: Theme, half: Half): Palette {
  const ratios = Array.from({ length: KINDS * RATIOS }, (_, i) =>
    ratioColor(((i % 2 === 0 ? 1 : -1) * Math.floor(i / KINDS)) / (RATIOS - 1), 1, theme),
  );
  const beyond = ratios.flatMap((_, i) => (i % KINDS < 2 ? [] : [[FIRST_RATIO + i, DOTS, theme.inkSoft] as const]));
  const ends = [ratioColor(Infinity, 1, theme), ratioColor(-Infinity, 1, theme)];
  return hatched(
    [theme.background, theme.none, theme.none, theme.surface, theme.surface, ...ratios, ...ends, theme.nonfinite],
    [
      [NONE, noneLean(half), theme.noneLine],
      [ONLY_HERE, 1, theme.only],
      [ONLY_THERE, -1, theme.only],
      [ZERO_HERE, 1, theme.zero],
      [ZERO_THERE, -1, theme.zero],
      ...beyond,
    ],
  );
}

function hatched(colors: readonly string[], hatches: readonly (readonly [number, Lean, string])[]): Palette {
  const [lines, lean] = [[...colors], new Int8Array(colors.length)];
  for (const [code, leans, color] of hatches) [lines[code], lean[code]] = [color, leans];
  return { colors: Uint32Array.from(colors, pixelOf), lines: Uint32Array.from(lines, pixelOf), lean };
}

function pixelOf(hex: string): number {
  const [red, green, blue] = rgbOf(hex);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}
