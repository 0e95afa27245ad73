// Converts an element to a color: one hue below zero, one above, and the color of NaN and infinity.

import type { Theme } from "./theme";

export type Rgb = readonly [number, number, number];

// `reach` is the magnitude at which the color is full.
export function elementColor(value: number, reach: number, theme: Theme): Rgb {
  if (!Number.isFinite(value)) return rgbOf(theme.nonfinite);
  const [below, zero, above] = theme.elements;
  const part = reach === 0 ? 0 : Math.min(1, Math.abs(value) / reach);
  const end = rgbOf(value < 0 ? below : above);
  const start = rgbOf(zero);
  return [0, 1, 2].map((i) => Math.round(start[i]! + part * (end[i]! - start[i]!))) as unknown as Rgb;
}

export function rgbOf(hex: string): Rgb {
  const channel = (at: number): number => Number.parseInt(hex.slice(at, at + 2), 16);
  return [channel(1), channel(3), channel(5)];
}

// The color at `t`, 0..1, in a list of colors, interpolated linearly between the two nearest.
export function colorAt(stops: readonly string[], t: number): string {
  const at = t * (stops.length - 1);
  const below = Math.min(stops.length - 2, Math.floor(at));
  const [from, to] = [rgbOf(stops[below]!), rgbOf(stops[below + 1]!)];
  return `#${from
    .map((part, i) =>
      Math.round(part + (at - below) * (to[i]! - part))
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;
}
