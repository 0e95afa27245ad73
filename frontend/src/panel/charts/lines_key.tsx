// The key of the charts: each chosen tensor, and the number of each of its lines at one step.

import type { JSX } from "preact";
import { runTitle } from "../../model/recorded/run";
import { quantityMeaning } from "../../model/flow/scalar_line";
import { isAllZero, plainValue, valueIn } from "../chart/chart";
import { Spelt, Swatch } from "../chart/chart_key";
import { CloseIcon, IconButton } from "../controls/icons";
import { removeCharted } from "./charts_actions";
import type { FetchedCharts } from "./charts_data";
import { nameOfEntry, type Overlaid } from "./charts_lines";
import { removeQuantity } from "./quantity_lines";

export function LinesKey({
  charting,
  overlaid: { lines, entries, runs, log },
  at,
}: {
  readonly charting: FetchedCharts;
  readonly overlaid: Overlaid;
  readonly at: number | undefined;
}): JSX.Element {
  const several = runs.length > 1;
  return (
    <ul data-testid="charts-lines">
      {entries.map((entry) => (
        <li key={entry.id} data-pin={entry.pin} data-quantity={entry.quantity}>
          <div class="charts-pin">
            {!several && lines.filter((line) => line.entry === entry.id).map((line) => <Swatch key={line.id} line={line} />)}
            <span class="charts-name" title={entry.pin ?? quantityMeaning(entry.quantity ?? "")}>
              {nameOfEntry(charting.store, entry)}
            </span>
            {!several && <Value entry={entry.id} lines={lines} at={at} />}
            <IconButton
              id="unpin"
              label="Remove"
              onClick={() =>
                entry.pin === undefined ? removeQuantity(charting, entry.quantity ?? "") : removeCharted(charting, entry.pin)
              }
            >
              <CloseIcon />
            </IconButton>
          </div>
          {log && lines.some((line) => line.entry === entry.id && isAllZero(line)) && (
            <p class="faint" data-testid="all-zero">
              All 0.
            </p>
          )}
          {several &&
            lines
              .filter((line) => line.entry === entry.id)
              .map((line) => (
                <div key={line.id} class="charts-run" data-line={line.id} data-value={plainValue(valueIn(line, at))}>
                  <Swatch line={line} />
                  <span class="charts-name">{runTitle(line.run)}</span>
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
  entry,
  lines,
  at,
}: {
  readonly entry: string;
  readonly lines: Overlaid["lines"];
  readonly at: number | undefined;
}): JSX.Element {
  const line = lines.find((one) => one.entry === entry);
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
