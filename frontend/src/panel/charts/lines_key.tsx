// The key of the charts: each chosen tensor, and the number of each of its lines at one step.

import type { JSX } from "preact";
import { isAllZero, plainValue, valueIn } from "../chart/chart";
import { Spelt, Swatch } from "../chart/chart_key";
import { nameOfPin } from "../chart/pin_names";
import { CloseIcon, IconButton } from "../controls/icons";
import { removeCharted } from "./charts_actions";
import type { FetchedCharts } from "./charts_data";
import type { Overlaid } from "./charts_lines";

export function LinesKey({
  charting,
  overlaid: { lines, pins, runs, log },
  at,
}: {
  readonly charting: FetchedCharts;
  readonly overlaid: Overlaid;
  readonly at: number | undefined;
}): JSX.Element {
  const several = runs.length > 1;
  return (
    <ul data-testid="charts-lines">
      {pins.map((pin) => (
        <li key={pin} data-pin={pin}>
          <div class="charts-pin">
            {!several && lines.filter((line) => line.pin === pin).map((line) => <Swatch key={line.id} line={line} />)}
            <span class="charts-name" title={pin}>
              {nameOfPin(charting.store, pin)}
            </span>
            {!several && <Value pin={pin} lines={lines} at={at} />}
            <IconButton id="unpin" label="Remove" onClick={() => removeCharted(charting, pin)}>
              <CloseIcon />
            </IconButton>
          </div>
          {log && lines.some((line) => line.pin === pin && isAllZero(line)) && (
            <p class="faint" data-testid="all-zero">
              All 0.
            </p>
          )}
          {several &&
            lines
              .filter((line) => line.pin === pin)
              .map((line) => (
                <div key={line.id} class="charts-run" data-line={line.id} data-value={plainValue(valueIn(line, at))}>
                  <Swatch line={line} />
                  <span class="charts-name">{line.run || "."}</span>
                  {line.problem === undefined ? (
                    <Spelt line={line} step={at} />
                  ) : (
                    <span class="faint" title={line.problem}>
                      not here
                    </span>
                  )}
                </div>
              ))}
        </li>
      ))}
    </ul>
  );
}

function Value({
  pin,
  lines,
  at,
}: {
  readonly pin: string;
  readonly lines: Overlaid["lines"];
  readonly at: number | undefined;
}): JSX.Element {
  const line = lines.find((one) => one.pin === pin);
  if (line === undefined) return <span class="faint">…</span>;
  if (line.problem !== undefined)
    return (
      <span class="faint" title={line.problem}>
        not here
      </span>
    );
  return (
    <span data-line={line.id} data-value={plainValue(valueIn(line, at))}>
      <Spelt line={line} step={at} />
    </span>
  );
}
