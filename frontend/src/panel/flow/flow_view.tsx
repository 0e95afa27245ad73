// The view of gradients or values over the whole training: names at the left, the heat map, the loss above
// it, and the legend below.

import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { formatNumber } from "../../base/format";
import type { Flow } from "../../model/flow/flow";
import { quantityMeaning, valueAt } from "../../model/flow/scalar_line";
import { badWords } from "../../model/recorded/bad_steps";
import type { Store } from "../../state/store";
import { FitIcon, IconButton } from "../controls/icons";
import { Loading, NoGradients } from "../controls/messages";
import { nameOf, withFooter } from "../picture/picture";
import type { Drawing } from "../session/drawing";
import { DirectionSwitch } from "../view/halves";
import { SavePictures } from "../view/save_pictures";
import type { Around, Shown, View } from "../view/view";
import { closeAllRows, openAllRows, openRowsAround, showEverything } from "./flow_actions";
import { FlowCanvas, type PointedCell } from "./flow_canvas";
import { createFlowing, ofStep, type Flowing } from "./flow_data";
import { FLOW_KEYS, FLOW_MEANINGS, pressInFlow } from "./flow_keys";
import { FlowLegend } from "./flow_legend";
import { flowPicture } from "./flow_picture";
import { FlowTree } from "./flow_tree";
import { cellSentence, fullTitle } from "./flow_words";

const TOOLTIP_PX = 280;
// How many points of a scalar TensorBoard keeps by default.
const THINNED = 1000;

export const flowView: View = {
  id: "flow",
  text: "Flow",
  title: "Every module and node over all recorded steps, as a heat map (G)",
  key: "g",
  hasCard: false,
  compares: true,
  help: { keys: FLOW_KEYS, meanings: FLOW_MEANINGS },
  create: showFlow,
};

function showFlow(around: Around): Shown {
  const { store, drawing } = around;
  const flowing = createFlowing(around);
  const { state } = flowing;
  return {
    Choices: () => <DirectionSwitch store={store} />,
    Body: () => <FlowBody store={store} drawing={drawing} flowing={flowing} />,
    Saved: () => (
      <SavePictures
        store={store}
        title="Picture of the heat map"
        id="save"
        name={() => nameOf(store, "flow")}
        paint={() => withFooter(flowPicture(store, drawing, flowing), store, drawing, true)}
      />
    ),
    groups: { openAll: () => openAllRows(state), closeAll: () => closeAllRows(state) },
    enter: (selected) => openRowsAround(state, selected),
    press: (event, target) => pressInFlow(flowing, event, target),
    link: { read: (values) => void (state.scalarTag.value = values.get("scalar")), write: () => [["scalar", state.scalarTag.value]] },
    close: flowing.close,
  };
}

function FlowBody({
  store,
  drawing,
  flowing,
}: {
  readonly store: Store;
  readonly drawing: Drawing;
  readonly flowing: Flowing;
}): JSX.Element {
  const element = useRef<HTMLCanvasElement>(null);
  const [pointed, setPointed] = useState<PointedCell | undefined>(undefined);
  useEffect(() => {
    if (element.current === null) return undefined;
    const made = new FlowCanvas(element.current, store, drawing, flowing, setPointed);
    return () => made.close();
  }, []);
  const { columns, rows } = flowing.state.window.value;
  const zoomed = columns !== undefined || rows !== undefined;
  return (
    <main class="flow" data-testid="flow">
      <div class="flow-names">
        <ScalarChoice store={store} flowing={flowing} />
        <FlowTree store={store} flowing={flowing} />
      </div>
      <div class="flow-map">
        <canvas
          ref={element}
          data-testid="flow-canvas"
          role="img"
          aria-label={`Heat map: ${flowing.rows.value.length} rows, ${flowing.flow.value?.steps.length ?? 0} recorded steps; the tree before it has its numbers`}
        />
        <NoGradients store={store} />
        {zoomed && (
          <div class="zoom flow-zoom">
            <IconButton id="flow-reset" label="Show everything (F, or a double click)" onClick={() => showEverything(flowing.state)}>
              <FitIcon />
            </IconButton>
          </div>
        )}
        {flowing.flow.value === undefined &&
          (flowing.problem.value === undefined ? (
            <Loading what="Loading all steps…" />
          ) : (
            <div class="banner" role="alert">
              {flowing.problem.value}
            </div>
          ))}
        {pointed && <CellTooltip store={store} flowing={flowing} pointed={pointed} widthPx={element.current?.clientWidth ?? 0} />}
      </div>
      <FlowLegend store={store} drawing={drawing} flowing={flowing} />
      <Said store={store} flowing={flowing} />
    </main>
  );
}

// Above the names, next to the line: the choice of the scalar.
function ScalarChoice({ store, flowing }: { readonly store: Store; readonly flowing: Flowing }): JSX.Element | null {
  const { tags, quantities, chosen, line } = flowing.scalar;
  const [series, names] = [line.value?.series, [...quantities.value.known.keys()]];
  const step = store.place.ref.value?.step;
  if (tags.value.length + names.length === 0) return null;
  const value = series === undefined || step === undefined ? undefined : valueAt(series, step);
  const scale = line.value?.scale;
  const option = (id: string, text = id, title?: string): JSX.Element => (
    <option key={id} value={id} title={title}>
      {text}
    </option>
  );
  return (
    <div class={`flow-scalar${chosen.value === "" ? " alone" : ""}`}>
      <div class="flow-chosen">
        <select
          data-testid="scalar"
          aria-label="Line above the heat map: a scalar of the run, or a number of the step"
          title={`A scalar that the same run logs, or a recorded number of the step, on the same steps.${(series?.steps.length ?? 0) >= THINNED ? " TensorBoard keeps 1,000 points of a scalar, unless --samples_per_plugin says otherwise." : ""}`}
          value={chosen.value}
          onChange={(event) => (flowing.state.scalarTag.value = event.currentTarget.value)}
        >
          {tags.value.length > 0 && <optgroup label="Logged scalars">{tags.value.map((tag) => option(tag))}</optgroup>}
          {names.length > 0 && (
            <optgroup label="Numbers of the step">{names.map((name) => option(ofStep(name), name, quantityMeaning(name)))}</optgroup>
          )}
          <option value="">no line</option>
        </select>
        {value !== undefined && (
          <b
            class={Number.isFinite(value) ? "" : "bad"}
            data-testid="scalar-value"
            title={`At step ${step}${series?.isOfStep ? "" : ", or the last one logged before it"}`}
          >
            {formatNumber(value)}
          </b>
        )}
      </div>
      {scale !== undefined && (
        <div class="flow-ends faint" data-testid="scalar-ends" data-log={scale.log}>
          <span>{formatNumber(scale.high)}</span>
          {scale.log && <span title="The line's scale is logarithmic: its values span more than two decades">log</span>}
          <span>{scale.low === scale.high ? "" : formatNumber(scale.low)}</span>
        </div>
      )}
    </div>
  );
}

function CellTooltip({
  store,
  flowing,
  pointed,
  widthPx,
}: {
  readonly store: Store;
  readonly flowing: Flowing;
  readonly pointed: PointedCell;
  readonly widthPx: number;
}): JSX.Element | null {
  const flow = flowing.flow.value;
  const step = flow?.steps[pointed.column];
  if (flow === undefined || step === undefined) return null;
  const row = flowing.rows.value[pointed.row];
  const series = flowing.scalar.line.value?.series;
  const logged = series === undefined ? undefined : valueAt(series, step);
  const bad = badIn(store, flow, pointed.column);
  const { x, y } = pointed.pointScreen;
  const left = x + 16 + TOOLTIP_PX > widthPx ? x - 12 - TOOLTIP_PX : x + 16;
  return (
    <div
      class="tooltip flow-tooltip"
      data-testid="flow-tooltip"
      role="tooltip"
      style={{ left: `${Math.max(4, left)}px`, top: `${y + 14}px`, maxWidth: `${TOOLTIP_PX}px` }}
    >
      {row !== undefined && <div class="tooltip-title">{fullTitle(flow.hierarchy, row)}</div>}
      <div>
        step {step}
        {row !== undefined && (
          <>
            : <b>{cellSentence(flow, row, pointed.column)}</b>
          </>
        )}
      </div>
      {bad !== "" && <div class="bad">{bad}</div>}
      {series !== undefined && logged !== undefined && (
        <div>
          {series.tag} {formatNumber(logged)}
        </div>
      )}
    </div>
  );
}

function badIn(store: Store, { steps }: Flow, column: number): string {
  return column < 0 ? "" : badWords(store.recorded.badSteps.value, store.place.tag.value?.records ?? [], steps, column);
}

// The cell at the cursor, for screen readers: announced when it changes.
function Said({ store, flowing }: { readonly store: Store; readonly flowing: Flowing }): JSX.Element {
  const flow = flowing.flow.value;
  const row = flowing.rows.value[flowing.cursor.row.value];
  const ref = store.place.ref.value;
  const bad = flow === undefined ? "" : badIn(store, flow, flowing.cursor.column.value);
  const sentence =
    flow === undefined || ref === undefined || row === undefined
      ? ""
      : `${fullTitle(flow.hierarchy, row)}, step ${ref.step}: ${cellSentence(flow, row, flowing.cursor.column.value)}${bad === "" ? "" : `. ${bad}`}`;
  return (
    <div class="visually-hidden" data-testid="flow-said" role="status" aria-live="polite">
      {sentence}
    </div>
  );
}
