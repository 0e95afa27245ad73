// Heat maps of many runs beside each other, sorted by the last value of a number of the step.

import type { JSX } from "preact";
import type { Client } from "../../api/client";
import { formatNumber } from "../../base/format";
import { runTitle } from "../../model/recorded/run";
import { sortedByLast } from "../../model/charts/run_layers";
import { atPass, LOSS } from "../../model/flow/scalar_line";
import { chooseRun, goToStep } from "../../state/actions";
import { RadioGroup } from "../controls/radio_group";
import { NoValues } from "../view/halves";
import type { Drawing } from "../session/drawing";
import { chooseRuns, toggleRun } from "./charts_actions";
import { otherRuns, tagKey, tiledRuns, type FetchedCharts } from "./charts_data";
import { LayersBody } from "./layers/layers_body";

const WAYS = [
  { id: "lines", content: "Lines", title: "Lines of runs and tensors in one chart" },
  { id: "layers", content: "Layers", title: "A heat map of each run, layer by layer" },
] as const;

export function AsSwitch({ charting }: { readonly charting: FetchedCharts }): JSX.Element | null {
  const { inLayers } = charting.chosen;
  if (otherRuns(charting).length === 0 && !inLayers.value) return null;
  return (
    <RadioGroup
      id="as"
      label="Lines, or heat maps of runs"
      look="switch"
      choices={WAYS}
      chosen={inLayers.value ? "layers" : "lines"}
      choose={(id) => (inLayers.value = id === "layers")}
    />
  );
}

const BY_NAME = "name"; // no quantity has this name: it would be "note/name"

export function RunTiles({
  charting,
  client,
  drawing,
}: {
  readonly charting: FetchedCharts;
  readonly client: Client;
  readonly drawing: Drawing;
}): JSX.Element {
  const { store, chosen } = charting;
  const runs = tiledRuns(charting);
  const names = namesIn(charting, runs);
  const by = chosen.sortBy.value ?? (names.includes(LOSS) ? LOSS : BY_NAME);
  const lastOf = (run: string): number | undefined => lastIn(charting, run, by);
  const sorted = by === BY_NAME ? [...runs].sort((a, b) => a.localeCompare(b, "en", { numeric: true })) : sortedByLast(runs, lastOf);
  const others = otherRuns(charting);
  const shown = store.place.run.value?.run;
  return (
    <div class="charts" data-testid="run-tiles" data-by={by}>
      <div class="charts-key">
        <NoValues store={store} />
        <label class="choice">
          <span>Sort by last</span>
          <select data-testid="sort-runs" value={by} onChange={(event) => (chosen.sortBy.value = event.currentTarget.value)}>
            <option value={BY_NAME}>name</option>
            {names.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <section>
          <h3 aria-level={2}>Runs beside {runTitle(shown)}</h3>
          <div class="runs-choice">
            <button type="button" class="link" data-testid="all-runs" onClick={() => chooseRuns(charting, "every")}>
              All
            </button>
          </div>
          {others.map((run) => (
            <label key={run} class="check">
              <input
                type="checkbox"
                data-testid="beside-run"
                data-run={run}
                checked={runs.includes(run)}
                onChange={() => toggleRun(charting, run, others)}
              />
              {runTitle(run)}
            </label>
          ))}
        </section>
      </div>
      <div class="charts-plot">
        <div class="charts-controls">
          <AsSwitch charting={charting} />
        </div>
        <LayersBody
          store={store}
          client={client}
          drawing={drawing}
          runs={sorted}
          captionOf={(run) => caption(by, lastOf(run))}
          goTo={(run, step) => {
            chooseRun(store, run);
            goToStep(store, step, store.place.ref.peek()?.backwardPass);
          }}
        />
      </div>
    </div>
  );
}

function caption(by: string, value: number | undefined): string {
  return by === BY_NAME ? "" : `${by} ${value === undefined ? "\u2013" : formatNumber(value)}`;
}

function namesIn({ quantities, store }: FetchedCharts, runs: readonly string[]): readonly string[] {
  const tag = store.place.tag.value?.tag ?? "";
  return [
    ...new Set(
      runs.flatMap((run) => {
        const reply = quantities.value.get(tagKey(run, tag));
        return reply?.ok ? [...reply.value.known.keys()] : [];
      }),
    ),
  ];
}

function lastIn({ quantities, store }: FetchedCharts, run: string, name: string): number | undefined {
  const reply = quantities.value.get(tagKey(run, store.place.tag.value?.tag ?? ""));
  const found = reply?.ok ? reply.value.known.get(name) : undefined;
  return found && atPass(found, store.place.ref.value?.backwardPass ?? 0).values.at(-1);
}
