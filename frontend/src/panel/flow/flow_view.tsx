// The view of gradients or values over the whole training: names at the left, the heat map, the loss above
// it, and the legend below.

import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { formatNumber } from "../../base/format";
import { quantityMeaning, valueAt } from "../../model/flow/scalar_line";
import type { Store } from "../../state/store";
import { deferred } from "../controls/deferred";
import { FitIcon, IconButton } from "../controls/icons";
import { Loading, NoGradients } from "../controls/messages";
import { nameOf, withFooter } from "../picture/picture";
import type { Drawing } from "../session/drawing";
import { DirectionSwitch } from "../view/halves";
import { SavePictures } from "../view/save_pictures";
import type { Around, Shown, View } from "../view/view";
import { closeAllRows, openAllRows, openRowsAround, showEverything } from "./data/flow_actions";
import { createFlowing, type Flowing } from "./data/flow_data";
import { flowFacts } from "./data/flow_facts";
import { ofStep } from "./data/flow_scalar";
import type { PointedCell } from "./data/flow_sight";
import { readFlowLink, writeFlowLink } from "./data/flow_state";
import { FlowCanvas } from "./flow_canvas";
import { FLOW_KEYS, FLOW_MEANINGS, pressInFlow } from "./flow_keys";
import { FlowLanes } from "./flow_lanes";
import { CellTooltip, Said } from "./flow_said";
import { FlowLegend } from "./flow_legend";
import { flowPicture } from "./flow_picture";
import { FlowScroll } from "./rows/flow_scroll";
import { FlowTree } from "./rows/flow_tree";
import { OrderChoice } from "./rows/order_choice";

// How many points of a scalar TensorBoard keeps by default.
const THINNED = 1000;

const AreaPanel = deferred("The table", () => import("./area/area_panel").then((loaded) => loaded.AreaPanel));

export const flowView: View = {
  id: "flow",
  text: "Flow",
  title: "Every module and node over all recorded steps, as a heat map (G)",
  key: "g",
  hasCard: false,
  compares: true,
  help: { keys: FLOW_KEYS, meanings: FLOW_MEANINGS },
  deferred: [AreaPanel],
  create: showFlow,
};

function showFlow(around: Around): Shown {
  const { store, drawing } = around;
  const flowing = createFlowing(around);
  const { state } = flowing;
  const paint = () => withFooter(flowPicture(store, drawing, flowing), store, drawing, true);
  return {
    Choices: () => <DirectionSwitch store={store} />,
    Body: () => <FlowBody store={store} drawing={drawing} flowing={flowing} toCharts={(ids) => around.handOver("charts", ids)} />,
    Saved: () => <SavePictures store={store} title="Picture of the heat map" id="save" name={() => nameOf(store, "flow")} paint={paint} />,
    picture: async () => flowing.flow.peek() && paint(), // nothing to see while it loads
    facts: () => flowFacts(flowing),
    groups: { openAll: () => openAllRows(state), closeAll: () => closeAllRows(state) },
    enter: (selected) => openRowsAround(state, selected),
    press: (event, target) => pressInFlow(flowing, event, target),
    link: { read: (values) => readFlowLink(state, values), write: () => writeFlowLink(state) },
    close: flowing.close,
  };
}

function FlowBody({
  store,
  drawing,
  flowing,
  toCharts,
}: {
  readonly store: Store;
  readonly drawing: Drawing;
  readonly flowing: Flowing;
  readonly toCharts: (ids: readonly string[]) => void;
}): JSX.Element {
  const element = useRef<HTMLCanvasElement>(null);
  const [pointed, setPointed] = useState<PointedCell | undefined>(undefined);
  useEffect(() => {
    if (element.current === null) return undefined;
    const made = new FlowCanvas(element.current, store, drawing, flowing, setPointed);
    return () => made.close();
  }, []);
  return (
    <div class="flow" data-testid="flow">
      <div class="flow-names">
        <ScalarChoice store={store} flowing={flowing} />
        <OrderChoice flowing={flowing} />
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
        <Zoomed flowing={flowing} />
        {flowing.flow.value === undefined &&
          (flowing.problem.value === undefined ? (
            <Loading what="Loading all steps…" />
          ) : (
            <div class="banner" role="alert">
              {flowing.problem.value}
            </div>
          ))}
        <FlowLanes store={store} flowing={flowing} />
        <FlowScroll flowing={flowing} />
        {pointed && <CellTooltip store={store} flowing={flowing} pointed={pointed} widthPx={element.current?.clientWidth ?? 0} />}
      </div>
      {flowing.selection.value !== undefined && <AreaPanel store={store} flowing={flowing} toCharts={toCharts} />}
      <FlowLegend store={store} drawing={drawing} flowing={flowing} />
      <Said store={store} flowing={flowing} />
    </div>
  );
}

// Only this part is rendered again while the map moves.
function Zoomed({ flowing }: { readonly flowing: Flowing }): JSX.Element | null {
  const { columns, rowPx } = flowing.state.window.value;
  if (columns === undefined && rowPx === undefined) return null;
  return (
    <div class="zoom flow-zoom">
      <IconButton id="flow-reset" label="Show all steps (F, or a double click)" onClick={() => showEverything(flowing.state)}>
        <FitIcon />
      </IconButton>
    </div>
  );
}

// Above the names, next to the line: the choice of the scalar.
function ScalarChoice({ store, flowing }: { readonly store: Store; readonly flowing: Flowing }): JSX.Element | null {
  const { tags, quantities, chosen, line } = flowing.scalar;
  const [series, names] = [line.value?.series, [...quantities.value.known.keys()]];
  const step = store.place.ref.value?.step;
  if (tags.value.length + names.length === 0) return null;
  const value = series === undefined || step === undefined ? undefined : valueAt(series, step);
  const other = line.value?.there?.series;
  const there = other === undefined || step === undefined ? undefined : valueAt(other, step);
  const scale = line.value?.scale;
  const option = (id: string, text = id, title?: string): JSX.Element => (
    <option key={id} value={id} title={title}>
      {text}
    </option>
  );
  return (
    <div
      class={`flow-scalar${chosen.value === "" ? " alone" : ""}`}
      style={{ height: chosen.value === "" ? undefined : `${flowing.head.value.strip.y}px` }}
    >
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
        {there !== undefined && line.value?.there !== undefined && (
          <span class="flow-there" data-testid="scalar-there" title="The dashed line: the same on the other side, at this step">
            <i />
            {formatNumber(there)} {line.value.there.range === undefined ? "there" : "median there"}
          </span>
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
