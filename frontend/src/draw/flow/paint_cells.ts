// Fills an image with the visible cells. Each pixel shows the greatest of the cells that it covers.

import type { Axis } from "../../model/flow/flow_window";
import { DOTS, NOTHING, type Palette } from "./flow_codes";

export interface Cells {
  readonly codes: Uint16Array; // [entities, columns]
  readonly columns: number;
  readonly entities: Int32Array; // the entity of each row; -1: a row without cells
}

// Cells of at least this size are separated by a line of background.
const GAP_FROM = 7;
const HATCH_EVERY = 6;
const [DOT, DOTS_ACROSS, DOTS_DOWN] = [2, 7, 6];

// The first unit under each pixel, and the one after the last. An empty span is a gap or beyond the end.
interface Spans {
  readonly start: Int32Array;
  readonly end: Int32Array;
  readonly used: number; // pixels before the end of the last unit
  readonly most: number; // units under one pixel
  readonly gaps: boolean;
}

export function paintCells(image: ImageData, cells: Cells, columns: Axis, rows: Axis, pixelRatio: number, palette: Palette): void {
  const { width, height } = image;
  const pixels = new Uint32Array(image.data.buffer);
  const across = spansOf(columns, width, pixelRatio);
  const down = spansOf(rows, height, pixelRatio);
  const line = new Uint16Array(width);
  let plain = false;
  for (let y = 0; y < height; y++) {
    const [from, to] = [down.start[y]!, down.end[y]!];
    const same = y > 0 && from === down.start[y - 1] && to === down.end[y - 1];
    if (!same) {
      fillLine(line, cells, across, from, to);
      plain = line.every((code) => palette.lean[code] === 0);
    }
    // Without hatching or dots, every line of pixels of a row is the same.
    if (same && plain) pixels.copyWithin(y * width, (y - 1) * width, y * width);
    else writeLine(pixels, y * width, y, line, palette);
  }
}

function spansOf(axis: Axis, length: number, pixelRatio: number): Spans {
  const start = new Int32Array(length);
  const end = new Int32Array(length);
  const unit = axis.unitPx * pixelRatio;
  const gap = axis.unitPx >= GAP_FROM;
  let [used, most] = [0, 1];
  for (let pixel = 0; pixel < length; pixel++) {
    const first = Math.floor(axis.from + (pixel + 1e-6) / unit);
    const last = Math.min(axis.count, Math.max(first + 1, Math.ceil(axis.from + (pixel + 1 - 1e-6) / unit)));
    const isGap = gap && Math.floor(axis.from + (pixel + 1 + 1e-6) / unit) !== first;
    start[pixel] = first;
    // If units are wider than a pixel, each pixel has one unit.
    end[pixel] = isGap || first >= axis.count ? first : unit >= 1 ? first + 1 : last;
    if (first < axis.count) used = pixel + 1;
    most = Math.max(most, end[pixel]! - first);
  }
  return { start, end, used, most, gaps: gap };
}

function fillLine(line: Uint16Array, cells: Cells, across: Spans, from: number, to: number): void {
  line.fill(NOTHING);
  for (let row = from; row < to; row++) {
    const entity = cells.entities[row]!;
    if (entity === -1) continue;
    const codes = cells.codes.subarray(entity * cells.columns, (entity + 1) * cells.columns);
    // Most of the time of a frame is spent here, so the usual cases have no inner loop.
    if (across.most <= 2) fillFromPairs(line, codes, across);
    else fillFromMany(line, codes, across);
  }
}

function fillFromPairs(line: Uint16Array, codes: Uint16Array, { start, end, used, gaps }: Spans): void {
  for (let x = 0; x < used; x++) {
    if (gaps && start[x] === end[x]) continue;
    const first = codes[start[x]!]!;
    const second = codes[end[x]! - 1]!;
    const greater = first > second ? first : second;
    if (greater > line[x]!) line[x] = greater;
  }
}

function fillFromMany(line: Uint16Array, codes: Uint16Array, { start, end, used }: Spans): void {
  for (let x = 0; x < used; x++) {
    let greatest = line[x]!;
    for (let column = start[x]!; column < end[x]!; column++) if (codes[column]! > greatest) greatest = codes[column]!;
    line[x] = greatest;
  }
}

function writeLine(pixels: Uint32Array, at: number, y: number, line: Uint16Array, palette: Palette): void {
  const { colors, lines, lean } = palette;
  for (let x = 0; x < line.length; x++) {
    const code = line[x]!;
    const leans = lean[code]!;
    const over = leans === DOTS ? isDot(x, y) : leans !== 0 && (x + leans * y) % HATCH_EVERY === 0;
    pixels[at + x] = (over ? lines : colors)[code]!;
  }
}

// Every other row of dots is shifted.
function isDot(x: number, y: number): boolean {
  const row = Math.floor(y / DOTS_DOWN);
  return y % DOTS_DOWN < DOT && (x + (row % 2) * 3) % DOTS_ACROSS < DOT;
}
