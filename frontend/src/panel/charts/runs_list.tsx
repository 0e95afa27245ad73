// The runs that are drawn, and that can be drawn over the shown one; the colors of a hyperparameter's values.

import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { formatNumber } from "../../base/format";
import { runTitle } from "../../model/recorded/run";
import type { Theme } from "../../draw/style/theme";
import { Swatch } from "../chart/chart_key";
import { chooseRuns, toggleRun } from "./charts_actions";
import { otherRuns, type FetchedCharts } from "./charts_data";
import { canBeGrouped, type Overlaid } from "./charts_lines";
import { BY_RUN, colorsOf, levelColors, looksOf, parameterIn } from "../chart/line_looks";

const MANY = 8; // from so many on, there is a field that filters them
const MOST_LISTED = 500;

interface RunsListProps {
  readonly charting: FetchedCharts;
  readonly overlaid: Overlaid;
  readonly theme: Theme;
}

// Runs with a graph of the same name.
export function RunsList({ charting, overlaid, theme }: RunsListProps): JSX.Element | null {
  const [wanted, want] = useState("");
  const others = otherRuns(charting);
  if (others.length === 0) return null;
  const { runs, entries, parameters } = overlaid;
  const colorBy = charting.chosen.colorBy.value;
  const look = looksOf(colorBy, entries.length, runs, parameters, theme);
  const byTensor = parameterIn(colorBy) === undefined && colorsOf(colorBy, entries.length, runs.length) !== BY_RUN;
  const isGrouped = charting.chosen.grouped.value && canBeGrouped(runs);
  const found = others.filter((run) => run.toLowerCase().includes(wanted.toLowerCase()));
  return (
    <section data-testid="runs-list">
      <h3 aria-level={2}>
        Runs over {runTitle(runs[0])} ({runs.length - 1} of {others.length})
      </h3>
      <div class="runs-choice">
        {others.length >= MANY && (
          <input
            type="search"
            data-testid="filter-runs"
            aria-label="Filter runs"
            placeholder="Filter runs"
            value={wanted}
            onInput={(event) => want(event.currentTarget.value)}
          />
        )}
        <button
          type="button"
          class="link"
          data-testid="all-runs"
          onClick={() => chooseRuns(charting, wanted === "" ? "every" : [...new Set([...runs.slice(1), ...found])])}
        >
          {wanted === "" ? "All" : "Add these"}
        </button>
        <button type="button" class="link" data-testid="no-runs" onClick={() => chooseRuns(charting, [])}>
          None
        </button>
      </div>
      <Levels overlaid={overlaid} colorBy={colorBy} theme={theme} />
      {found.slice(0, MOST_LISTED).map((run) => {
        const at = runs.indexOf(run);
        return (
          <label key={run} class="check">
            <input
              type="checkbox"
              data-testid="over-run"
              data-run={run}
              checked={at !== -1}
              onChange={() => toggleRun(charting, run, others)}
            />
            {at !== -1 && !byTensor && !isGrouped && <Swatch line={{ ...look(0, at), dash: entries.length > 1 ? [] : look(0, at).dash }} />}
            {runTitle(run)}
          </label>
        );
      })}
      {found.length > MOST_LISTED && <p class="faint">and {found.length - MOST_LISTED} more; filter them</p>}
    </section>
  );
}

function Levels({
  overlaid: { runs, parameters },
  colorBy,
  theme,
}: {
  readonly overlaid: Overlaid;
  readonly colorBy: string | undefined;
  readonly theme: Theme;
}): JSX.Element | null {
  const name = parameterIn(colorBy);
  if (name === undefined) return null;
  return (
    <ul class="levels" data-testid="levels" aria-label={name}>
      {levelColors(name, runs, parameters, theme).map(({ value, color }) => {
        const text = value === undefined ? "none" : typeof value === "number" ? formatNumber(value) : String(value);
        return (
          <li key={text} data-value={String(value)} data-color={color}>
            <Swatch line={{ color }} />
            {name} = {text}
          </li>
        );
      })}
    </ul>
  );
}
