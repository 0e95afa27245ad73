// Measures and cuts text for the canvas. Names are user data and only ever reach fillText.

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
export const TITLE_SIZE = 13;
export const DETAIL_SIZE = 12;
export const TITLE_FONT = `600 ${TITLE_SIZE}px ${FONT}`;
export const DETAIL_FONT = `${DETAIL_SIZE}px ${FONT}`;
export const LABEL_FONT = DETAIL_FONT;

const scaled = new Map<string, string>();

// The same font, larger.
export function scaledFont(font: string, scale: number): string {
  if (scale === 1) return font;
  const key = `${scale} ${font}`;
  let known = scaled.get(key);
  if (known === undefined) {
    if (scaled.size > KEPT) scaled.clear();
    scaled.set(key, (known = font.replace(/[\d.]+px/, (size) => `${Number.parseFloat(size) * scale}px`)));
  }
  return known;
}

let context: CanvasRenderingContext2D | undefined;
const widths = new Map<string, number>();
const KEPT = 20_000;

export function widthOf(text: string, font: string): number {
  const key = `${font}\n${text}`;
  const known = widths.get(key);
  if (known !== undefined) return known;
  context ??= document.createElement("canvas").getContext("2d") ?? undefined;
  if (context === undefined) return text.length * 6.5;
  context.font = font;
  const { width } = context.measureText(text);
  if (widths.size > KEPT) widths.clear();
  widths.set(key, width);
  return width;
}

// Cuts text until it fits. The middle is removed, because names often differ at both ends.
export function fitText(text: string, font: string, width: number): string {
  if (widthOf(text, font) <= width) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (widthOf(cutMiddle(text, middle), font) <= width) low = middle;
    else high = middle - 1;
  }
  return cutMiddle(text, low);
}

function cutMiddle(text: string, kept: number): string {
  const head = Math.ceil(kept * 0.6);
  return `${text.slice(0, head)}…${text.slice(text.length - (kept - head))}`;
}
