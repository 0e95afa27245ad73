// Paints the footer of a saved picture: the meaning of its colors and what it shows, in as many lines as needed.

import { formatNumber } from "../../base/format";
import type { Size } from "../../base/geometry";
import type { ColorScale } from "../style/color_scale";
import { DETAIL_FONT, fitText, TITLE_FONT, widthOf } from "../style/text";
import type { Theme } from "../style/theme";

export interface Footer {
  readonly what: string; // which statistic
  readonly of: string; // run, graph, step and stage
  readonly scale: ColorScale;
  readonly ramp: readonly string[];
  readonly chips: readonly (readonly [fill: string, frame: string, word: string])[];
}

interface Part {
  readonly width: number;
  paint(context: CanvasRenderingContext2D, x: number, middle: number): void;
}

interface Placed extends Part {
  readonly x: number;
  readonly line: number;
}

const FOOTER_PX = 44; // of one line
const LINE_PX = 20;
const RAMP_PX = 140;
const SHADES = 70;
const MARGIN_PX = 14;
const GAP_PX = 14;

export function footerHeight(width: number, footer: Footer, theme: Theme): number {
  return FOOTER_PX + LINE_PX * (place(width, footer, theme).at(-1)?.line ?? 0);
}

// `size` is that of the picture above it.
export function paintFooter(context: CanvasRenderingContext2D, { width, height }: Size, footer: Footer, theme: Theme): void {
  const placed = place(width, footer, theme);
  context.fillStyle = theme.surface;
  context.fillRect(0, height, width, footerHeight(width, footer, theme));
  context.fillStyle = theme.border;
  context.fillRect(0, height, width, 1);
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const part of placed) part.paint(context, part.x, height + FOOTER_PX / 2 + LINE_PX * part.line);
}

// From left to right; items that do not fit go to the next line. The text on what the picture shows
// is at the right, if it fits on the first line.
function place(width: number, footer: Footer, theme: Theme): readonly Placed[] {
  const room = width - 2 * MARGIN_PX;
  const of = textPart(fitText(footer.of, DETAIL_FONT, room), DETAIL_FONT, theme.inkSoft);
  let [x, line] = [0, 0];
  const placed = [...partsOf(footer, theme), of].map((part) => {
    if (x > 0 && x + part.width > room) [x, line] = [0, line + 1];
    const at = part === of && line === 0 ? room - of.width : x;
    x += part.width + GAP_PX;
    return { ...part, x: MARGIN_PX + at, line };
  });
  return placed;
}

function partsOf({ what, scale, ramp, chips }: Footer, theme: Theme): readonly Part[] {
  const [low, high] = [
    `${scale.below ? "≤ " : ""}${formatNumber(scale.domain[0])}`,
    `${scale.above ? "≥ " : ""}${formatNumber(scale.domain[1])}`,
  ];
  return [
    textPart(what, TITLE_FONT, theme.ink),
    rampPart(low, high, ramp, theme),
    ...chips.map(([fill, frame, word]) => chipPart(fill, frame, word, theme)),
  ];
}

function textPart(text: string, font: string, color: string): Part {
  return { width: widthOf(text, font), paint: (context, x, middle) => put(context, text, font, color, x, middle) };
}

function rampPart(low: string, high: string, ramp: readonly string[], theme: Theme): Part {
  const from = widthOf(low, DETAIL_FONT) + 6;
  return {
    width: from + RAMP_PX + 6 + widthOf(high, DETAIL_FONT),
    paint(context, x, middle) {
      put(context, low, DETAIL_FONT, theme.inkSoft, x, middle);
      for (let shade = 0; shade < SHADES; shade++) {
        context.fillStyle = ramp[Math.round((shade / (SHADES - 1)) * (ramp.length - 1))]!;
        // Each overlaps the next one, so that no gap shows between them.
        context.fillRect(x + from + (shade * RAMP_PX) / SHADES, middle - 5, RAMP_PX / SHADES + (shade < SHADES - 1 ? 0.6 : 0), 10);
      }
      put(context, high, DETAIL_FONT, theme.inkSoft, x + from + RAMP_PX + 6, middle);
    },
  };
}

function chipPart(fill: string, frame: string, word: string, theme: Theme): Part {
  return {
    width: 15 + widthOf(word, DETAIL_FONT),
    paint(context, x, middle) {
      const thick = frame === theme.border ? 1 : 3;
      context.fillStyle = frame;
      context.fillRect(x, middle - 5, 10, 10);
      context.fillStyle = fill;
      context.fillRect(x + thick, middle - 5 + thick, 10 - 2 * thick, 10 - 2 * thick);
      put(context, word, DETAIL_FONT, theme.inkSoft, x + 15, middle);
    },
  };
}

function put(context: CanvasRenderingContext2D, text: string, font: string, color: string, x: number, y: number): void {
  context.font = font;
  context.fillStyle = color;
  context.fillText(text, x, y);
}
