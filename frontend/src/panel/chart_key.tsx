// The lines of a chart by name, with the numbers under the pointer, else at the step.

import type { JSX } from "preact";
import { formatNumber } from "../base/format";
import { isAllZero, plainValue, valueIn, type ChartLine } from "./chart";

export function ChartKey({ id = "chart-key", lines, step, pointed, word = "step", log = false }: {
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
      {at !== undefined && <span class="faint">{word} {at}</span>}
      {lines.map((line) => {
        const value = valueIn(line, at);
        return (
          <span key={line.id} data-line={line.id} data-value={plainValue(value)}>
            {lines.length > 1 && <Swatch line={line} />}
            {lines.length > 1 && <>{line.label} </>}
            {log && isAllZero(line) && <>all 0, no line on a log scale </>}
            {at !== undefined && <b>{value === null || value === undefined ? "–" : formatNumber(value)}</b>}
          </span>
        );
      })}
    </div>
  );
}

export function Swatch({ line: { color, dash } }: { readonly line: Pick<ChartLine, "color" | "dash"> }): JSX.Element {
  return (
    <svg class="swatch" width="18" height="8" aria-hidden="true">
      <path d="M0 4H18" stroke={color} stroke-width="2.5" stroke-dasharray={dash?.join(" ")} />
    </svg>
  );
}
