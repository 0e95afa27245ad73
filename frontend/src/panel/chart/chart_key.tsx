// The names of the lines of a chart, with the numbers at the pointer, or else at the step.

import type { JSX } from "preact";
import { formatNumber } from "../../base/format";
import type { ChartLine } from "../../draw/charts/chart_line";
import { markedSteps, nonfiniteText } from "../../draw/charts/chart_marks";
import { isAllZero, plainValue, valueIn } from "./chart";

export function ChartKey({
  id = "chart-key",
  lines,
  step,
  pointed,
  word = "step",
  log = false,
}: {
  readonly id?: string; // for tests
  readonly lines: readonly ChartLine[];
  readonly step: number | undefined;
  readonly pointed: number | undefined;
  readonly word?: string;
  readonly log?: boolean;
}): JSX.Element {
  const at = pointed ?? step;
  return (
    <div class="chart-key" data-testid={id} data-at={at}>
      {at !== undefined && (
        <span class="faint">
          {word} {at}
        </span>
      )}
      {lines.map((line) => {
        const value = valueIn(line, at);
        return (
          <span key={line.id} data-line={line.id} data-value={plainValue(value)}>
            {lines.length > 1 && <Swatch line={line} />}
            {lines.length > 1 && <>{line.label} </>}
            {log && isAllZero(line) && <>all 0 </>}
            {at !== undefined && <Spelt line={line} step={at} />}
          </span>
        );
      })}
      <MarksKey lines={lines} log={log} />
    </div>
  );
}

// The number of a line at a step, and whether elements there are NaN or infinite.
export function Spelt({ line, step }: { readonly line: ChartLine; readonly step: number | undefined }): JSX.Element {
  const value = valueIn(line, step);
  const nonfinite = step === undefined ? undefined : line.nonfinite?.get(step);
  const beside = nonfinite !== undefined && Number.isFinite(value);
  return (
    <b class={nonfinite !== undefined && !beside ? "bad" : ""}>
      {value === null || value === undefined ? "–" : formatNumber(value)}
      {beside && (
        <span class="bad" title="This number covers the finite elements; others are NaN or infinite">
          {" "}
          {formatNumber(nonfinite)}
        </span>
      )}
    </b>
  );
}

// What the marks of a chart mean; empty if it has none.
export function MarksKey({ lines, log }: { readonly lines: readonly ChartLine[]; readonly log: boolean }): JSX.Element | null {
  const marked = markedSteps(lines, log);
  const { zeros, nonfinite, gaps } = marked;
  if (zeros.length + nonfinite.length === 0) return null;
  return (
    <p class="chart-marks" data-testid="chart-marks">
      {zeros.length > 0 && <span class="zeros">zero</span>}
      {nonfinite.length > 0 && <span class="nonfinite">{nonfiniteText(marked)}</span>}
      {gaps && <span>{gaps}</span>}
    </p>
  );
}

export function Swatch({ line: { color, dash } }: { readonly line: Pick<ChartLine, "color" | "dash"> }): JSX.Element {
  return (
    <svg class="swatch" width="18" height="8" aria-hidden="true">
      <path d="M0 4H18" stroke={color} stroke-width="2.5" stroke-dasharray={dash?.join(" ")} />
    </svg>
  );
}
