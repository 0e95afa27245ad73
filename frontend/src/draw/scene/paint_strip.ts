// Paints the strip of a closed run: a cell for each block, in the color of the block at the step.

import type { Point, Rect } from "../../base/geometry";
import type { Statistic } from "../../model/recorded/statistics";
import type { Hierarchy } from "../../model/tree/hierarchy";
import { cellValues, firstBlock, type Strip } from "../../model/visible/strip";
import type { State, StepValues } from "../../model/visible/values";
import type { ColorScale } from "../style/color_scale";
import type { Theme } from "../style/theme";
import type { BoxPaint } from "./paints";

// The room that it needs below the text of its box.
export const STRIP_HEIGHT = 17;
const CELL_HEIGHT = 10;
const MARGIN = 12;
const NARROWEST = 3;
const WIDEST = 16;
const GAP_FROM = 5;

// The preferred width of all cells, with their margin.
export function wantedWidth({ count }: Strip): number {
  return count * WIDEST + 2 * MARGIN;
}

// Blocks share cells if there are more blocks than can be seen.
export function cellCount({ count }: Strip, boxWidth: number): number {
  return Math.min(count, Math.floor((boxWidth - 2 * MARGIN) / NARROWEST));
}

export function stripRect(face: Rect): Rect {
  return { x: face.x + MARGIN, y: face.y + face.height - STRIP_HEIGHT, width: face.width - 2 * MARGIN, height: CELL_HEIGHT };
}

// The block under a point of the box; undefined beside the strip.
export function blockUnder(strip: Strip, face: Rect, { x, y }: Point): number | undefined {
  const rect = stripRect(face);
  if (x < rect.x || x >= rect.x + rect.width || y < rect.y - 2 || y > rect.y + rect.height + 2) return undefined;
  const cells = cellCount(strip, face.width);
  return firstBlock(strip, Math.floor(((x - rect.x) / rect.width) * cells), cells);
}

export function stripFills(
  hierarchy: Hierarchy,
  strip: Strip,
  width: number,
  scale: ColorScale,
  statistic: Statistic,
  values: StepValues | undefined,
): readonly string[] {
  const cells = cellCount(strip, width);
  if (values === undefined) return Array.from({ length: cells }, () => scale.fill(NaN, 0));
  const { value, state } = cellValues(hierarchy, strip, cells, values, statistic);
  return Array.from(state, (one, cell) => scale.fill(value[cell]!, one as State));
}

export function paintStrip(
  context: CanvasRenderingContext2D,
  face: Rect,
  { strip: fills, zeros }: Pick<BoxPaint, "strip" | "zeros">,
  marked: number,
  theme: Theme,
): void {
  const { x, y, width, height } = stripRect(face);
  context.beginPath();
  context.roundRect(x - 2, y - 2, width + 4, height + 4, 4);
  context.fillStyle = theme.surface;
  context.fill();
  const step = width / fills.length;
  const gap = step >= GAP_FROM ? 1 : 0;
  fills.forEach((fill, cell) => {
    context.fillStyle = fill;
    // If there is no gap, cells are a little wider. Otherwise the background would show between two of them.
    context.fillRect(x + cell * step + gap / 2, y, step - gap + (gap === 0 ? 0.3 : 0), height);
    if (zeros?.[cell] !== true) return;
    context.fillStyle = theme.zero;
    context.fillRect(x + cell * step + step / 4, y + 3, step / 2, height - 6);
  });
  if (marked === -1) return;
  context.lineWidth = 2;
  context.strokeStyle = theme.accent;
  context.strokeRect(x + marked * step - 0.5, y - 2, Math.max(3, step) + 1, height + 4);
}
