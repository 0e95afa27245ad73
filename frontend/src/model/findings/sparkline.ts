// The small picture of a finding: its numbers as a line, and its steps as a band.

import type { RunFinding } from "./run_findings";

export interface Sparkline {
  readonly line: string; // a path; "": there is no line
  readonly bad: readonly number[]; // where a number is not finite
  readonly band: readonly [from: number, to: number]; // the steps of the finding
  readonly isLog: boolean;
}

const MARGIN = 2;
const MOST_LINEAR = 50; // above this ratio of positive numbers, the scale is logarithmic
const NARROWEST = 2;

// In a box of that size, with y downwards. Without numbers the band is over all recorded steps.
export function sparklineOf(finding: RunFinding, width: number, height: number, steps: readonly number[]): Sparkline {
  const { numbers, firstStep, lastStep } = finding;
  const over = numbers.length > 1 ? numbers.map(([step]) => step) : steps;
  const [first, last] = [over[0] ?? firstStep, over.at(-1) ?? lastStep];
  const x = (step: number): number => MARGIN + (width - 2 * MARGIN) * clamp((step - first) / Math.max(1, last - first));
  const finite = numbers.filter(([, number]) => Number.isFinite(number));
  const [least, greatest] = [Math.min(...finite.map(([, n]) => n)), Math.max(...finite.map(([, n]) => n))];
  const isLog = least > 0 && greatest > MOST_LINEAR * least;
  const scale = isLog ? Math.log : (number: number): number => number;
  const span = scale(greatest) - scale(least);
  const y = (number: number): number => height - MARGIN - (height - 2 * MARGIN) * (span > 0 ? (scale(number) - scale(least)) / span : 0.5);
  const [from, to] = [x(firstStep), x(lastStep)];
  const wider = Math.max(0, NARROWEST - (to - from)) / 2;
  return {
    line: pathOf(numbers.map(([step, number]) => (Number.isFinite(number) ? [x(step), y(number)] : undefined))),
    bad: numbers.filter(([, number]) => !Number.isFinite(number)).map(([step]) => x(step)),
    band: [from - wider, to + wider],
    isLog,
  };
}

// A gap is where a number is missing.
function pathOf(points: readonly (readonly [number, number] | undefined)[]): string {
  let path = "";
  points.forEach((point, i) => {
    if (point === undefined) return;
    const [x, y] = point.map((part) => part.toFixed(1));
    path += points[i - 1] === undefined ? `M${x} ${y}h0` : `L${x} ${y}`;
  });
  return path;
}

function clamp(part: number): number {
  return Math.min(1, Math.max(0, part));
}
