// Tensors, and runs, over each other: one chart, and a key with the numbers under the pointer.

import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { goToStep } from "../../state/actions";
import { removeCharted, toggleRun } from "../../state/charts_actions";
import type { Store } from "../../state/store";
import { Chart, isAllZero, plainValue, valueIn } from "../chart/chart";
import { MarksKey, Spelt, Swatch } from "../chart/chart_key";
import { nameOfPin } from "../chart/pin_names";
import { CloseIcon, IconButton } from "../controls/icons";
import type { Drawing } from "../session/drawing";
import { hasTag, type Charting } from "./charts_data";
import { drawnLines, optionsFor, type Overlaid } from "./charts_lines";

interface ChartsProps {
  readonly store: Store;
  readonly drawing: Drawing;
  readonly charting: Charting;
}

export function ChartsView({ store, drawing, charting }: ChartsProps): JSX.Element {
  const [pointed, pointAt] = useState<number | undefined>(undefined);
  const overlaid = drawnLines(store, charting.series.value, drawing.theme.value);
  const step = store.ref.value?.step;
  const { lines, log, axis } = overlaid;
  if (overlaid.pins.length === 0) return <NothingPinned />;
  return (
    <div class="charts" data-testid="charts" data-pins={overlaid.pins.join("\n")} data-runs={overlaid.runs.join("\n")}>
      <div class="charts-key">
        <p class="faint" data-testid="charts-at">step {pointed ?? step}{pointed === undefined || pointed === step ? "" : " (pointed at)"}</p>
        <Key store={store} overlaid={overlaid} at={pointed ?? step} />
        <MarksKey lines={lines} log={log} />
        <Runs store={store} />
      </div>
      <div class="charts-plot">
        <Controls store={store} overlaid={overlaid} />
        <Chart fills lines={lines} log={log} label={axis} step={step} theme={drawing.theme.value} smoothing={store.charts.smoothing.value}
          pointAt={pointAt} goTo={(to) => goToStep(store, to, store.ref.value?.backwardPass)} />
      </div>
    </div>
  );
}

function NothingPinned(): JSX.Element {
  return (
    <div class="message" data-testid="nothing-pinned">
      <h1>Nothing is charted yet</h1>
      <p>Select a node or a module in the graph to see it here (of a module, its parameters), or find it above. “Add to charts” on cards puts several over each other.</p>
    </div>
  );
}

function Key({ store, overlaid: { lines, pins, runs, log }, at }: { readonly store: Store; readonly overlaid: Overlaid; readonly at: number | undefined }): JSX.Element {
  const several = runs.length > 1;
  return (
    <ul data-testid="charts-lines">
      {pins.map((pin) => (
        <li key={pin} data-pin={pin}>
          <div class="charts-pin">
            {!several && lines.filter((line) => line.pin === pin).map((line) => <Swatch key={line.id} line={line} />)}
            <span class="charts-name" title={pin}>{nameOfPin(store, pin)}</span>
            {!several && <Value pin={pin} lines={lines} at={at} />}
            <IconButton id="unpin" label="Remove" onClick={() => removeCharted(store, pin)}><CloseIcon /></IconButton>
          </div>
          {log && lines.some((line) => line.pin === pin && isAllZero(line)) && <p class="faint" data-testid="all-zero">All 0.</p>}
          {several && lines.filter((line) => line.pin === pin).map((line) => (
            <div key={line.id} class="charts-run" data-line={line.id} data-value={plainValue(valueIn(line, at))}>
              <Swatch line={line} /><span class="charts-name">{line.run || "."}</span>{line.problem === undefined ? <Spelt line={line} step={at} /> : <span class="faint" title={line.problem}>not here</span>}
            </div>
          ))}
        </li>
      ))}
    </ul>
  );
}

function Value({ pin, lines, at }: { readonly pin: string; readonly lines: Overlaid["lines"]; readonly at: number | undefined }): JSX.Element {
  const line = lines.find((one) => one.pin === pin);
  if (line === undefined) return <span class="faint">…</span>;
  if (line.problem !== undefined) return <span class="faint" title={line.problem}>not here</span>;
  return <span data-line={line.id} data-value={plainValue(valueIn(line, at))}><Spelt line={line} step={at} /></span>;
}

// Runs with a graph of the same name.
function Runs({ store }: { readonly store: Store }): JSX.Element | null {
  const [run, tag] = [store.run.value?.run, store.tag.value?.tag];
  const others = store.runs.value.filter((one) => one.run !== run && tag !== undefined && hasTag(store.runs.value, one.run, tag));
  if (others.length === 0) return null;
  const chosen = store.charts.runs.value;
  return (
    <section>
      <h3>Runs over {run || "."}</h3>
      {others.map((one) => (
        <label key={one.run} class="check">
          <input type="checkbox" data-testid="over-run" data-run={one.run} checked={chosen.includes(one.run)} onChange={() => toggleRun(store, one.run)} />
          {one.run || "."}
        </label>
      ))}
    </section>
  );
}

function Controls({ store, overlaid: { of, canBeLog, log } }: { readonly store: Store; readonly overlaid: Overlaid }): JSX.Element {
  const { smoothing, log: chosenLog, of: chosenOf } = store.charts;
  return (
    <div class="charts-controls">
      <label class="choice"><span>Of</span>
        <select data-testid="charts-of" value={of} onChange={(event) => (chosenOf.value = event.currentTarget.value)}>
          {optionsFor(store).map(({ id, text }) => <option key={id} value={id}>{text}</option>)}
        </select>
      </label>
      {canBeLog && <label class="check">
        <input type="checkbox" data-testid="charts-log" checked={log} onChange={(event) => (chosenLog.value = event.currentTarget.checked)} />
        log scale
      </label>}
      <label class="choice smoothing" title="Smoothed as TensorBoard does; the raw lines stay below, and all numbers are raw"><span>Smoothing</span>
        <input type="range" class="slider" data-testid="smoothing" min={0} max={0.99} step={0.01} value={smoothing.value}
          onInput={(event) => (smoothing.value = event.currentTarget.valueAsNumber)} />
        <span class="smoothing-value">{smoothing.value === 0 ? "off" : smoothing.value}</span>
      </label>
    </div>
  );
}
