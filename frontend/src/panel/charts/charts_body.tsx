// The body of the view of charts: several tensors and runs in one chart, and a key with the numbers at the pointer.

import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { goToStep } from "../../state/actions";
import { Chart } from "../chart/chart";
import { MarksKey } from "../chart/chart_key";
import { SaveChart } from "../picture/save_chart";
import type { Drawing } from "../session/drawing";
import { NoValues } from "../view/halves";
import { toggleRun } from "./charts_actions";
import { hasTag, type FetchedCharts } from "./charts_data";
import { drawnLines, optionsFor, savedLines, type Overlaid } from "./charts_lines";
import { LinesKey } from "./lines_key";
import { QuantityPicker } from "./quantity_picker";

export interface ChartsProps {
  readonly drawing: Drawing;
  readonly charting: FetchedCharts;
}

export function ChartsBody({ drawing, charting }: ChartsProps): JSX.Element {
  const { store, chosen } = charting;
  const [pointed, pointAt] = useState<number | undefined>(undefined);
  const overlaid = drawnLines(charting, drawing.theme.value);
  const step = store.place.ref.value?.step;
  const { lines, log, axis } = overlaid;
  if (overlaid.entries.length === 0) return <NothingPinned charting={charting} />;
  return (
    <div
      class="charts"
      data-testid="charts"
      data-pins={overlaid.entries.flatMap(({ pin: one }) => one ?? []).join("\n")}
      data-runs={overlaid.runs.join("\n")}
    >
      <div class="charts-key">
        <NoValues store={store} />
        <p class="faint" data-testid="charts-at">
          step {pointed ?? step}
          {pointed === undefined || pointed === step ? "" : " (pointed at)"}
        </p>
        <LinesKey charting={charting} overlaid={overlaid} at={pointed ?? step} />
        <MarksKey lines={lines} log={log} />
        <QuantityPicker charting={charting} />
        <Runs charting={charting} />
      </div>
      <div class="charts-plot">
        <Controls charting={charting} overlaid={overlaid} />
        <Chart
          fills
          lines={lines}
          log={log}
          label={axis}
          step={step}
          theme={drawing.theme.value}
          smoothing={chosen.smoothing.value}
          pointAt={pointAt}
          goTo={(to) => goToStep(store, to, store.place.ref.value?.backwardPass)}
        />
      </div>
    </div>
  );
}

export function SavedCharts({ drawing, charting }: ChartsProps): JSX.Element | null {
  const overlaid = drawnLines(charting, drawing.theme.value);
  if (overlaid.lines.length === 0) return null;
  return (
    <section>
      <h3>The chart</h3>
      <SaveChart store={charting.store} drawing={drawing} look="action" chart={savedLines(charting, overlaid)} />
    </section>
  );
}

function NothingPinned({ charting }: { readonly charting: FetchedCharts }): JSX.Element {
  return (
    <div class="message" data-testid="nothing-pinned">
      <h1>Nothing is charted yet</h1>
      <p>
        Select a node in the graph, or find it above, to see it here. A module shows its parameters. “Add to charts” on cards draws several
        tensors in one chart.
      </p>
      <QuantityPicker charting={charting} />
    </div>
  );
}

// Runs with a graph of the same name.
function Runs({ charting }: { readonly charting: FetchedCharts }): JSX.Element | null {
  const { store } = charting;
  const [run, tag] = [store.place.run.value?.run, store.place.tag.value?.tag];
  const others = store.recorded.runs.value.filter(
    (one) => one.run !== run && tag !== undefined && hasTag(store.recorded.runs.value, one.run, tag),
  );
  if (others.length === 0) return null;
  const over = charting.chosen.runs.value;
  return (
    <section>
      <h3>Runs over {run || "."}</h3>
      {others.map((one) => (
        <label key={one.run} class="check">
          <input
            type="checkbox"
            data-testid="over-run"
            data-run={one.run}
            checked={over.includes(one.run)}
            onChange={() => toggleRun(charting, one.run)}
          />
          {one.run || "."}
        </label>
      ))}
    </section>
  );
}

function Controls({
  charting,
  overlaid: { of, entries, canBeLog, log },
}: {
  readonly charting: FetchedCharts;
  readonly overlaid: Overlaid;
}): JSX.Element {
  const { smoothing, log: chosenLog, of: chosenOf } = charting.chosen;
  return (
    <div class="charts-controls">
      {entries.some(({ pin: one }) => one !== undefined) && (
        <label class="choice">
          <span>Of</span>
          <select data-testid="charts-of" value={of} onChange={(event) => (chosenOf.value = event.currentTarget.value)}>
            {optionsFor(charting.store).map(({ id, text }) => (
              <option key={id} value={id}>
                {text}
              </option>
            ))}
          </select>
        </label>
      )}
      {canBeLog && (
        <label class="check">
          <input
            type="checkbox"
            data-testid="charts-log"
            checked={log}
            onChange={(event) => (chosenLog.value = event.currentTarget.checked)}
          />
          log scale
        </label>
      )}
      <label class="choice smoothing" title="Smoothed as TensorBoard does; the raw lines stay below, and all numbers are raw">
        <span>Smoothing</span>
        <input
          type="range"
          class="slider"
          data-testid="smoothing"
          min={0}
          max={0.99}
          step={0.01}
          value={smoothing.value}
          onInput={(event) => (smoothing.value = event.currentTarget.valueAsNumber)}
        />
        <span class="smoothing-value">{smoothing.value === 0 ? "off" : smoothing.value}</span>
      </label>
    </div>
  );
}
