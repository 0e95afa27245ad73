// The heat maps of many runs beside each other: one row for each layer, the same in all of them, and one scale of colors.

import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { JSX } from "preact";
import type { Client } from "../../../api/client";
import { formatNumber } from "../../../base/format";
import { runTitle } from "../../../model/recorded/run";
import { paletteOf } from "../../../draw/flow/flow_codes";
import { makeScale, rampOf } from "../../../draw/style/color_scale";
import { alignedLayers, magnitudesOfAll } from "../../../model/charts/run_layers";
import type { Store } from "../../../state/store";
import { BesideScale, endsOf, Ramp } from "../../controls/swatches";
import type { Drawing } from "../../session/drawing";
import { LayerTile, type Pointed } from "./layer_tile";
import { fetchLayers, type LayersData } from "./layers_data";

export const MOST_TILES = 24;

export interface LayersProps {
  readonly store: Store;
  readonly client: Client;
  readonly drawing: Drawing;
  readonly runs: readonly string[]; // in the order in which they are shown
  readonly captionOf: (run: string) => string;
  readonly goTo: (run: string, step: number) => void;
}

export function LayersBody(props: LayersProps): JSX.Element {
  const { store, client, drawing, runs } = props;
  const shown = runs.slice(0, MOST_TILES);
  const data = useLayers(store, client, shown);
  const [pointed, pointAt] = useState<Pointed | undefined>(undefined);
  const theme = drawing.theme.value;
  const statistic = store.shown.statistic.value;
  const all = data?.tiles.value;
  const found = useMemo(() => shown.flatMap((run) => (all?.get(run)?.ok === true ? [run] : [])), [all, shown.join("\n")]);
  const flows = found.flatMap((run) => {
    const reply = all?.get(run);
    return reply?.ok ? [reply.value] : [];
  });
  const scale = useMemo(() => makeScale(statistic, magnitudesOfAll(flows), theme), [all, statistic, theme, shown.join("\n")]);
  const layers = useMemo(() => alignedLayers(flows.map(({ ids }) => ids)), [all, shown.join("\n")]);
  const palette = useMemo(() => paletteOf(theme, store.place.half.value), [theme, store.place.half.value]);
  const columns = Math.max(1, ...flows.map(({ steps }) => steps.length));
  return (
    <div class="layers" data-testid="layers" data-ready={found.length} data-runs={shown.join("\n")} data-layers={layers.join("\n")}>
      <p class="layers-said" data-testid="layers-said" role="status">
        {pointed === undefined
          ? `${statistic.label} of ${layers.length} layers over the steps, first layer on top. Point at a cell for its number; a click shows the run at that step.`
          : said(pointed)}
        {runs.length > MOST_TILES && ` ${MOST_TILES} of ${runs.length} runs.`}
      </p>
      <div class="layers-scale">
        <span>{endsOf(scale)[0]}</span>
        <Ramp colors={rampOf(theme.dark, theme.ramp)} scale={scale} />
        <span>{endsOf(scale)[1]}</span>
        <BesideScale theme={theme} half={store.shown.half.value} />
      </div>
      <div class="tiles">
        {shown.map((run) => (
          <LayerTile
            key={run}
            run={run}
            caption={props.captionOf(run)}
            reply={all?.get(run)}
            layers={layers}
            columns={columns}
            scale={scale}
            palette={palette}
            pointAt={pointAt}
            goTo={props.goTo}
          />
        ))}
      </div>
    </div>
  );
}

function said({ run, layer, step, cell }: Pointed): string {
  return `${runTitle(run)}: ${layer}, step ${step}: ${cell === undefined ? "nothing" : formatNumber(cell)}`;
}

// Fetched while it is shown.
function useLayers(store: Store, client: Client, runs: readonly string[]): LayersData | undefined {
  const wanted = useMemo(() => signal(runs), []);
  const key = runs.join("\n");
  const [data, setData] = useState<LayersData | undefined>(undefined);
  useEffect(() => void (wanted.value = runs), [key]);
  useEffect(() => {
    const made = fetchLayers(store, client, wanted);
    setData(made);
    return made.close;
  }, [store, client]);
  return data;
}
