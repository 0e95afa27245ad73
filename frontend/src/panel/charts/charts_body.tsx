// The body of the view of charts: several tensors and runs in one chart, and a key with the numbers at the pointer.

import { computed } from "@preact/signals";
import { useMemo, useState } from "preact/hooks";
import type { JSX } from "preact";
import type { Client } from "../../api/client";
import { formatNumber } from "../../base/format";
import { differing } from "../../model/charts/run_parameters";
import { runTitle } from "../../model/recorded/run";
import { goToStep } from "../../state/actions";
import { Chart } from "../chart/chart";
import { MarksKey } from "../chart/chart_key";
import type { Painted } from "../picture/picture";
import { pictureOfChart, SaveChart } from "../picture/save_chart";
import type { Drawing } from "../session/drawing";
import { NoValues } from "../view/halves";
import type { FetchedCharts } from "./charts_data";
import { canBeGrouped, drawnLines, optionsFor, savedLines, type Overlaid } from "./charts_lines";
import { BY_RUN, BY_TENSOR, byParameter, colorsOf } from "../chart/line_looks";
import { LinesKey } from "./lines_key";
import { QuantityPicker } from "./quantity_picker";
import { AsSwitch, RunTiles } from "./run_tiles";
import { RunsList } from "./runs_list";

export interface ChartsProps {
  readonly client: Client;
  readonly drawing: Drawing;
  readonly charting: FetchedCharts;
}

export function ChartsBody(props: ChartsProps): JSX.Element {
  return props.charting.chosen.inLayers.value ? <RunTiles {...props} /> : <LinesBody {...props} />;
}

function LinesBody({ drawing, charting }: ChartsProps): JSX.Element {
  const { store, chosen } = charting;
  const [pointed, pointAt] = useState<number | undefined>(undefined);
  const overlaid = useOverlaid(charting, drawing);
  const step = store.place.ref.value?.step;
  const { lines, log, axis, range } = overlaid;
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
        <RunsList charting={charting} overlaid={overlaid} theme={drawing.theme.value} />
      </div>
      <div class="charts-plot">
        <Controls charting={charting} overlaid={overlaid} />
        <Outliers charting={charting} overlaid={overlaid} />
        <Chart
          fills
          lines={lines}
          log={log}
          label={axis}
          step={step}
          theme={drawing.theme.value}
          smoothing={chosen.smoothing.value}
          range={range && [range.low, range.high]}
          zoom={chosen.zoom.value}
          setZoom={(zoom) => (chosen.zoom.value = zoom)}
          pointAt={pointAt}
          goTo={(to) => goToStep(store, to, store.place.ref.value?.backwardPass)}
        />
      </div>
    </div>
  );
}

// Computed again only when what it is made of changes, and not when the pointer moves.
function useOverlaid(charting: FetchedCharts, drawing: Drawing): Overlaid {
  return useMemo(() => computed(() => drawnLines(charting, drawing.theme.value)), [charting, drawing]).value;
}

export function SavedCharts({ drawing, charting }: Omit<ChartsProps, "client">): JSX.Element | null {
  const overlaid = drawnLines(charting, drawing.theme.value);
  if (overlaid.lines.length === 0 || charting.chosen.inLayers.value) return null;
  return (
    <section>
      <h3 aria-level={2}>The chart</h3>
      <SaveChart store={charting.store} drawing={drawing} look="action" chart={savedLines(charting, overlaid)} />
    </section>
  );
}

export function chartPicture({ drawing, charting }: Omit<ChartsProps, "client">): Painted | undefined {
  const overlaid = drawnLines(charting, drawing.theme.peek());
  if (overlaid.lines.length === 0 || charting.chosen.inLayers.value) return undefined;
  return pictureOfChart(charting.store, drawing, savedLines(charting, overlaid));
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
      <AsSwitch charting={charting} />
    </div>
  );
}

const MOST_NAMED = 3;

// Says which lines leave the picture, and turns it off and on.
function Outliers({ charting, overlaid }: { readonly charting: FetchedCharts; readonly overlaid: Overlaid }): JSX.Element | null {
  const { outliers, lines } = overlaid;
  const shown = charting.chosen.outliers;
  if (outliers.length === 0) return null;
  const names = outliers.slice(0, MOST_NAMED).map(({ id, reaches }) => {
    const line = lines.find((one) => one.id === id);
    return `${runTitle(line?.run)}${overlaid.entries.length > 1 ? ` (${line?.label})` : ""} reaches ${formatNumber(reaches)}`;
  });
  const more = outliers.length > MOST_NAMED ? `, and ${outliers.length - MOST_NAMED} more` : "";
  return (
    <p class="outliers" data-testid="outliers" data-lines={outliers.map(({ id }) => id).join("\n\n")} role="status">
      <label class="check">
        <input
          type="checkbox"
          data-testid="ignore-outliers"
          checked={!shown.value}
          onChange={(event) => (shown.value = !event.currentTarget.checked)}
        />
        ignore outliers in the axis
      </label>{" "}
      <span class="faint">
        {names.join(", ")}
        {more}
      </span>
    </p>
  );
}

function Controls({
  charting,
  overlaid: { of, entries, runs, parameters, canBeLog, log },
}: {
  readonly charting: FetchedCharts;
  readonly overlaid: Overlaid;
}): JSX.Element {
  const { smoothing, log: chosenLog, of: chosenOf, colorBy, zoom } = charting.chosen;
  const names = differing(runs, parameters);
  return (
    <div class="charts-controls">
      <AsSwitch charting={charting} />
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
      {canBeGrouped(runs) && (
        <label class="check" title="The shown run, and the median and range of the others at each step">
          <input
            type="checkbox"
            data-testid="grouped"
            checked={charting.chosen.grouped.value}
            onChange={(event) => (charting.chosen.grouped.value = event.currentTarget.checked)}
          />
          others as median and range
        </label>
      )}
      {runs.length > 1 && !(canBeGrouped(runs) && charting.chosen.grouped.value) && (
        <label class="choice">
          <span>Color by</span>
          <select
            data-testid="color-by"
            value={colorsOf(colorBy.value, entries.length, runs.length)}
            onChange={(event) => (colorBy.value = event.currentTarget.value)}
          >
            <option value={BY_RUN}>run</option>
            <option value={BY_TENSOR}>line</option>
            {names.map((name) => (
              <option key={name} value={byParameter(name)}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      {(zoom.value.x !== undefined || zoom.value.y !== undefined) && (
        <button
          type="button"
          class="pill"
          data-testid="zoom-reset"
          title="Shows all (0, or a double click)"
          onClick={() => (zoom.value = {})}
        >
          Show all
        </button>
      )}
    </div>
  );
}
