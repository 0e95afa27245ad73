// Paints what a line over steps cannot show. On a logarithmic scale, zeros are marked on a floor
// below it. On any scale, NaN and infinity are marked at the top, as one bar for as long as they last.

import { lastingSpans } from "../../model/recorded/bad_steps";

import type { Theme } from "../style/theme";
import type { ChartLine } from "./chart_line";

export const FLOOR_ROOM_PX = 22; // below the numbers of the scale
export const FLOOR_PX = 7; // above the lower edge
const ZERO_PX = 5;
const ZEROS_PX = 12; // of all lines together
const NONFINITE_PX: readonly [number, number] = [4, 9];
const LASTING_PX = 5; // the height of a bar

export interface MarkedSteps {
  readonly zeros: readonly number[];
  readonly nonfinite: readonly number[];
  readonly spans: readonly (readonly [number, number])[]; // of NaN and infinity: first and last step, ascending
  readonly gaps: string | undefined; // what they mean
}

const known = new WeakMap<readonly ChartLine[], Map<boolean, MarkedSteps>>();

// A chart asks several times for each frame.
export function markedSteps(lines: readonly ChartLine[], log: boolean): MarkedSteps {
  const found = known.get(lines) ?? new Map<boolean, MarkedSteps>();
  known.set(lines, found);
  const marks = found.get(log) ?? findMarks(lines, log);
  found.set(log, marks);
  return marks;
}

function findMarks(lines: readonly ChartLine[], log: boolean): MarkedSteps {
  return {
    zeros: log ? lines.flatMap(({ steps, values }) => steps.filter((_, i) => values[i] === 0)) : [],
    nonfinite: lines.flatMap(({ nonfinite }) => [...(nonfinite?.keys() ?? [])]),
    spans: merged(lines.flatMap(({ steps, nonfinite }) => (nonfinite === undefined ? [] : lastingSpans(steps, nonfinite)))),
    gaps: lines
      .filter(({ steps, values, nonfinite }) => values.some((value, i) => value === null && nonfinite?.has(steps[i]!) !== true))
      .map(({ gap }) => `gap: ${gap ?? "no gradient"}`)
      .at(0),
  };
}

// Spans of several lines that overlap are one.
function merged(spans: readonly (readonly [number, number])[]): readonly (readonly [number, number])[] {
  const made: [number, number][] = [];
  for (const [from, to] of [...spans].sort(([a], [b]) => a - b)) {
    const last = made.at(-1);
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to);
    else made.push([from, to]);
  }
  return made;
}

// In the key of a chart: since when, if it was one time.
export function nonfiniteText({ spans }: MarkedSteps): string {
  const [first] = spans;
  if (spans.length !== 1 || first === undefined) return "NaN / inf";
  return `NaN / inf at ${first[0] === first[1] ? `step ${first[0]}` : `steps ${first[0]}–${first[1]}`}`;
}

export interface MarkPlaces {
  readonly x: (step: number) => number;
  readonly top: number;
  readonly floor: number;
  readonly pixel: number; // a pixel of the screen, in units of the context
}

const alone = new WeakMap<ChartLine, readonly ChartLine[]>();

function aloneOf(line: ChartLine): readonly ChartLine[] {
  const list = alone.get(line) ?? [line];
  alone.set(line, list);
  return list;
}

// A zero has the color of its line. Each line with zeros has its own row, because they would hide each other.
export function paintMarks(
  context: CanvasRenderingContext2D,
  lines: readonly ChartLine[],
  log: boolean,
  { x, top, floor, pixel }: MarkPlaces,
  theme: Theme,
): void {
  const rows = lines
    .map((line) => ({ color: line.color, zeros: markedSteps(aloneOf(line), log).zeros }))
    .filter(({ zeros }) => zeros.length > 0);
  const [side, row] = [ZERO_PX * pixel, Math.min(ZERO_PX, ZEROS_PX / rows.length) * pixel];
  rows.forEach(({ color, zeros }, i) => {
    context.fillStyle = color;
    for (const step of zeros) context.fillRect(x(step) - side / 2, floor + (i - rows.length / 2) * row, side, row);
  });
  const [width, height, lasting] = [NONFINITE_PX[0] * pixel, NONFINITE_PX[1] * pixel, LASTING_PX * pixel];
  context.fillStyle = theme.nonfinite;
  for (const [from, to] of markedSteps(lines, log).spans)
    context.fillRect(x(from) - width / 2, top, x(to) - x(from) + width, from === to ? height : lasting);
}
