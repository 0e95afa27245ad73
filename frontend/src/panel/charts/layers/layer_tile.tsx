// The heat map of one run, small, with its name.

import { useEffect, useMemo, useRef } from "preact/hooks";
import type { JSX } from "preact";
import type { Result } from "../../../base/result";
import { runTitle } from "../../../model/recorded/run";
import { codesOf, type Palette } from "../../../draw/flow/flow_codes";
import { paintCells } from "../../../draw/flow/paint_cells";
import type { ColorScale } from "../../../draw/style/color_scale";
import type { LayerFlow } from "../../../model/charts/run_layers";
import { State } from "../../../model/visible/values";

const WIDTH_PX = 208;
const LEAST_HEIGHT_PX = 96;
const MOST_ROW_PX = 10;

export interface Pointed {
  readonly run: string;
  readonly layer: string;
  readonly step: number;
  readonly cell: number | undefined; // NaN if it is not finite; undefined: no number
}

export interface TileProps {
  readonly run: string;
  readonly caption: string;
  readonly reply: Result<LayerFlow> | undefined;
  readonly layers: readonly string[];
  readonly columns: number; // of the longest run
  readonly scale: ColorScale;
  readonly palette: Palette;
  readonly pointAt: (pointed: Pointed | undefined) => void;
  readonly goTo: (run: string, step: number) => void;
}

export function LayerTile({ run, caption, reply, layers, columns, scale, palette, pointAt, goTo }: TileProps): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const flow = reply?.ok ? reply.value : undefined;
  const height = Math.max(LEAST_HEIGHT_PX, Math.min(2 * LEAST_HEIGHT_PX, layers.length * MOST_ROW_PX));
  const places = useMemo(() => Int32Array.from(layers, (id) => flow?.ids.indexOf(id) ?? -1), [flow, layers]);
  const codes = useMemo(() => flow && codesOf(flow, scale), [flow, scale]);
  useEffect(() => {
    const context = canvas.current?.getContext("2d", { alpha: false });
    if (!context || flow === undefined || codes === undefined) return;
    const ratio = window.devicePixelRatio;
    const { canvas: target } = context;
    [target.width, target.height] = [Math.round(WIDTH_PX * ratio), Math.round(height * ratio)];
    const image = context.createImageData(target.width, target.height);
    const across = { from: 0, to: flow.steps.length, unitPx: WIDTH_PX / columns, count: flow.steps.length };
    const down = { from: 0, to: layers.length, unitPx: height / Math.max(1, layers.length), count: layers.length };
    paintCells(image, { codes, columns: flow.steps.length, entities: places }, across, down, ratio, palette);
    context.putImageData(image, 0, 0);
    target.dataset["drawn"] = String(layers.length * flow.steps.length);
  }, [flow, codes, places, columns, height, palette]);
  const at = (event: MouseEvent): Pointed | undefined => {
    if (flow === undefined || canvas.current === null) return undefined;
    const { left, top, width, height: tall } = canvas.current.getBoundingClientRect();
    const column = Math.floor(((event.clientX - left) / width) * columns);
    const row = Math.floor(((event.clientY - top) / tall) * layers.length);
    const [step, layer, place] = [flow.steps[column], layers[row], places[row]];
    if (step === undefined || layer === undefined || place === undefined) return undefined;
    const cell = place * flow.steps.length + column;
    const state = place === -1 ? State.none : flow.state[cell]!;
    const number = state === State.number || state === State.zero ? flow.value[cell] : state === State.nonfinite ? NaN : undefined;
    return { run, layer, step, cell: number };
  };
  return (
    <figure class="tile" data-testid="tile" data-run={run}>
      <figcaption title={run}>
        <span class="tile-name">{runTitle(run)}</span> <b>{caption}</b>
      </figcaption>
      {reply?.ok === false ? (
        <p class="faint">{reply.error}</p>
      ) : (
        <button
          type="button"
          class="tile-cells"
          aria-label={`Run ${runTitle(run)}${caption === "" ? "" : `, ${caption}`}: show it`}
          onPointerMove={(event) => pointAt(at(event))}
          onPointerLeave={() => pointAt(undefined)}
          onClick={(event) => {
            const step = at(event)?.step ?? flow?.steps.at(-1);
            if (step !== undefined) goTo(run, step);
          }}
        >
          <canvas ref={canvas} style={{ width: `${WIDTH_PX}px`, height: `${height}px` }} />
        </button>
      )}
    </figure>
  );
}
