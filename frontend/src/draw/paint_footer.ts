// Below a picture that is taken away: what its colors mean, and of what it is.

import { formatNumber } from "../base/format";
import type { Size } from "../base/geometry";
import type { ColorScale } from "./color_scale";
import { DETAIL_FONT, fitText, TITLE_FONT, widthOf } from "./text";
import type { Theme } from "./theme";

export const FOOTER_PX = 44;

export interface Footer {
  readonly what: string; // which statistic
  readonly of: string; // run, graph and step
  readonly scale: ColorScale;
  readonly ramp: readonly string[];
}

const RAMP_PX = 140;
const PARTS = 70;
const MARGIN_PX = 14;

// `size` is that of the picture above it.
export function paintFooter(context: CanvasRenderingContext2D, { width, height }: Size, { what, of, scale, ramp }: Footer, theme: Theme): void {
  context.fillStyle = theme.surface;
  context.fillRect(0, height, width, FOOTER_PX);
  context.fillStyle = theme.border;
  context.fillRect(0, height, width, 1);
  context.textAlign = "left";
  context.textBaseline = "middle";
  const middle = height + FOOTER_PX / 2;
  let x = put(context, what, TITLE_FONT, theme.ink, MARGIN_PX, middle) + 12;
  x = put(context, `${scale.below ? "≤ " : ""}${formatNumber(scale.domain[0])}`, DETAIL_FONT, theme.inkSoft, x, middle) + 6;
  for (let part = 0; part < PARTS; part++) {
    context.fillStyle = ramp[Math.round((part / (PARTS - 1)) * (ramp.length - 1))]!;
    // Each reaches below the next, so that no seam shows between them.
    context.fillRect(x + (part * RAMP_PX) / PARTS, middle - 5, RAMP_PX / PARTS + (part < PARTS - 1 ? 0.6 : 0), 10);
  }
  x = put(context, `${scale.above ? "≥ " : ""}${formatNumber(scale.domain[1])}`, DETAIL_FONT, theme.inkSoft, x + RAMP_PX + 6, middle) + 18;
  for (const [color, word] of [[theme.zero, "zero"], [theme.none, "no gradient"], [theme.nonfinite, "NaN / inf"]] as const) {
    context.fillStyle = color;
    context.fillRect(x, middle - 5, 10, 10);
    context.strokeStyle = theme.border;
    context.lineWidth = 1;
    context.strokeRect(x + 0.5, middle - 4.5, 9, 9);
    x = put(context, word, DETAIL_FONT, theme.inkSoft, x + 15, middle) + 12;
  }
  const room = width - x - MARGIN_PX;
  if (room < 40) return;
  const text = fitText(of, DETAIL_FONT, room);
  put(context, text, DETAIL_FONT, theme.inkSoft, width - MARGIN_PX - widthOf(text, DETAIL_FONT), middle);
}

// Tells where the text ends.
function put(context: CanvasRenderingContext2D, text: string, font: string, color: string, x: number, y: number): number {
  context.font = font;
  context.fillStyle = color;
  context.fillText(text, x, y);
  return x + widthOf(text, font);
}
