// Fetches the data of the heat map while it is visible, and connects it to rows, colors and the window.

import { computed, effect, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { listScalars, readScalar } from "../../api/read_flow";
import { Disposer, type Dispose } from "../../base/disposer";
import { followLatest } from "../../base/follow_latest";
import type { Rect, Size } from "../../base/geometry";
import { codesOf, comparedCodesOf, paletteOf, ratioPaletteOf, type Palette } from "../../draw/flow/flow_codes";
import type { Cells } from "../../draw/flow/paint_cells";
import type { ScalarLine } from "../../draw/flow/paint_scalar";
import type { ColorScale } from "../../draw/style/color_scale";
import type { Flow } from "../../model/flow/flow";
import { entityOf, listRows, rowShowing, type FlowRow } from "../../model/flow/flow_rows";
import { columnAxis, rowAxis, type Axis } from "../../model/flow/flow_window";
import {
  atPass,
  LOSS,
  lossTag,
  NO_QUANTITIES,
  valueScale,
  type Quantities,
  type Quantity,
  type ScalarSeries,
} from "../../model/flow/scalar_line";
import { halfOf } from "../../model/recorded/record";
import { positionOf } from "../../model/recorded/step_axis";
import type { Store } from "../../state/store";
import type { Around } from "../view/view";
import { createFlowState, openAtFirst, openRowsAround, type FlowState } from "./flow_actions";
import { comparedOf, followOwn, followTheirs } from "./flow_numbers";

// The positions of parts on the screen.
export interface Sight {
  readonly columns: Axis;
  readonly rows: Axis;
  readonly map: Rect;
  readonly line: Rect | undefined;
}

export interface Cursor {
  readonly row: ReadonlySignal<number>; // of what is selected; -1: none
  readonly column: ReadonlySignal<number>; // of the step that is shown; -1: it has none
  readonly position: ReadonlySignal<number | undefined>; // the same between columns
}

// The line above the map.
export interface Scalar {
  readonly tags: Signal<readonly string[]>; // scalars of the run
  readonly quantities: Signal<Quantities>; // numbers of the step that the tag of the graph has
  readonly chosen: ReadonlySignal<string>; // a scalar's tag, or a quantity (ofStep); "": no line
  readonly line: ReadonlySignal<ScalarLine | undefined>;
}

export interface Flowing {
  readonly state: FlowState;
  readonly own: Signal<Flow | undefined>; // of the shown record
  readonly flow: ReadonlySignal<Flow | undefined>; // the same; while something is compared, a ComparedFlow
  readonly problem: Signal<string | undefined>;
  readonly rows: ReadonlySignal<readonly FlowRow[]>;
  readonly cursor: Cursor;
  readonly palette: ReadonlySignal<Palette>;
  readonly cells: ReadonlySignal<Cells | undefined>;
  readonly scalar: Scalar;
  readonly size: Signal<Size>;
  readonly sight: ReadonlySignal<Sight>;
  readonly close: Dispose;
}

const LINE_PX = 92;
const TOP_PX = 6;
const TICKS_PX = 24;

export function createFlowing(around: Around): Flowing {
  const { store, drawing } = around;
  const state = createFlowState(store);
  const own = signal<Flow | undefined>(undefined);
  const theirs = signal<Flow | undefined>(undefined);
  const compared = computed(() => comparedOf(store, own.value, theirs.value));
  const flow = computed(() => compared.value ?? own.value);
  const problem = signal<string | undefined>(undefined);
  const size = signal<Size>({ width: 0, height: 0 });
  const rows = computed(() =>
    flow.value === undefined ? [] : listRows(flow.value.hierarchy, state.open.value ?? new Set(), flow.value.shown),
  );
  const steps = computed(() => flow.value?.steps ?? []);
  const plain = codesKept(store, drawing.scale, own);
  const codes = computed(() => (compared.value === undefined ? plain.value : comparedCodesOf(compared.value, store.compare.reach.value)));
  const disposer = new Disposer();
  const scalar = createScalar(around, state, steps, disposer);
  disposer.add(followOwn(around, own, problem, (shown) => openAtFirst(state, shown.hierarchy, shown.shown)));
  disposer.add(followTheirs(around, own, theirs));
  disposer.add(
    effect(() => {
      const [selected, shown] = [store.shown.selected.value, store.recorded.hierarchy.value];
      if (around.isShown.value && selected !== undefined && shown !== undefined) openRowsAround(state, selected);
    }),
  );
  return {
    state,
    own,
    flow,
    problem,
    rows,
    size,
    scalar,
    cursor: {
      row: computed(() => (flow.value === undefined ? -1 : rowShowing(flow.value.hierarchy, rows.value, store.shown.selected.value))),
      column: computed(() => steps.value.indexOf(store.place.ref.value?.step ?? NaN)),
      position: computed(() =>
        store.place.ref.value === undefined || steps.value.length === 0 ? undefined : positionOf(steps.value, store.place.ref.value.step),
      ),
    },
    sight: computed(() => sightOf(state, size.value, steps.value.length, rows.value.length, scalar.chosen.value !== "")),
    palette: computed(() => (compared.value === undefined ? paletteOf : ratioPaletteOf)(drawing.theme.value, halfOf(flow.value?.stage))),
    cells: computed(() => {
      const [shown, colors] = [flow.value, codes.value];
      if (shown === undefined || colors === undefined) return undefined;
      // The row of an open module is a heading. Its contents have their own rows.
      const entities = Int32Array.from(rows.value, (row) => (row.open ? -1 : entityOf(shown.hierarchy, row)));
      return { codes: colors, columns: shown.steps.length, entities };
    }),
    close: () => disposer.dispose(),
  };
}

function createScalar(
  { store, client, isShown }: Around,
  { scalarTag }: FlowState,
  steps: ReadonlySignal<readonly number[]>,
  disposer: Disposer,
): Scalar {
  const tags = signal<readonly string[]>([]);
  const quantities = signal(NO_QUANTITIES);
  const logged = signal<ScalarSeries | undefined>(undefined);
  const chosen = computed(() => {
    const wanted = scalarTag.value;
    const known = wanted === "" || tags.value.includes(wanted ?? "") || (wanted !== undefined && quantityNamed(quantities.value, wanted));
    return (known ? wanted : undefined) ?? lossTag(tags.value) ?? (quantities.value.known.has(LOSS) ? ofStep(LOSS) : "");
  });
  const series = computed((): ScalarSeries | undefined => {
    const id = chosen.value;
    if (tags.value.includes(id)) return logged.value?.tag === id ? logged.value : undefined;
    const found = quantityNamed(quantities.value, id);
    if (found === undefined) return undefined;
    const { steps: at, values } = atPass(found, store.place.ref.value?.backwardPass ?? 0);
    return { tag: id.slice(OF_STEP.length), steps: at, values: Float64Array.from(values), isOfStep: true };
  });
  const line = computed(() => {
    const known = series.value;
    if (known === undefined || steps.value.length === 0) return undefined;
    return {
      series: known,
      positions: Float64Array.from(known.steps, (step) => positionOf(steps.value, step)),
      scale: valueScale(known.values),
    };
  });
  disposer.add(
    followLatest(
      () => {
        const run = store.place.run.value;
        return isShown.value && run !== undefined ? ([run] as const) : undefined;
      },
      ([{ run }]) => listScalars(client, run),
      (reply) => {
        const found = reply.ok ? reply.value : [];
        // Setting an equal list would remove the line and draw it again.
        if (found.join("\n") !== tags.peek().join("\n")) tags.value = found;
      },
    ),
  );
  disposer.add(
    followLatest(
      () => {
        // The tag of the graph is a new object after the runs were read again. The scalar may have grown too.
        const [run, records] = [store.place.run.value, store.place.tag.value];
        return isShown.value && run !== undefined && records !== undefined && tags.value.includes(chosen.value)
          ? ([run.run, chosen.value, records] as const)
          : undefined;
      },
      ([run, name]) => readScalar(client, run, name),
      (reply) => (logged.value = reply.ok ? reply.value : undefined),
    ),
  );
  disposer.add(
    followLatest(
      () => {
        const [run, tag] = [store.place.run.value?.run, store.place.tag.value];
        return isShown.value && run !== undefined && tag !== undefined ? ([run, tag] as const) : undefined;
      },
      ([run, { tag }]) => client.quantities(run, tag),
      (reply) => (quantities.value = reply.ok ? reply.value : NO_QUANTITIES),
    ),
  );
  return { tags, quantities, chosen, line };
}

const OF_STEP = "step:";

// The choice of a quantity, beside those of scalars.
export function ofStep(name: string): string {
  return OF_STEP + name;
}

function quantityNamed(quantities: Quantities, chosen: string): Quantity | undefined {
  return chosen.startsWith(OF_STEP) ? quantities.known.get(chosen.slice(OF_STEP.length)) : undefined;
}

function sightOf({ window }: FlowState, { width, height }: Size, columns: number, rows: number, withLine: boolean): Sight {
  const { columns: wide, rows: high } = window.value;
  const y = withLine ? LINE_PX + TOP_PX : TOP_PX;
  const map = { x: 0, y, width, height: Math.max(0, height - y - TICKS_PX) };
  return {
    columns: columnAxis(wide, columns, width),
    rows: rowAxis(high, rows, map.height),
    map,
    line: withLine ? { x: 0, y: TOP_PX, width, height: LINE_PX - TOP_PX } : undefined,
  };
}

// While the numbers of another statistic are loading, the shown ones keep their colors.
function codesKept(
  store: Store,
  scale: ReadonlySignal<ColorScale>,
  flow: Signal<Flow | undefined>,
): ReadonlySignal<Uint16Array | undefined> {
  let last: { readonly of: Flow; readonly codes: Uint16Array } | undefined;
  return computed(() => {
    const [shown, colors, statistic] = [flow.value, scale.value, store.shown.statistic.value];
    if (shown === undefined) return undefined;
    if (shown.statistic !== statistic && last?.of === shown) return last.codes;
    last = { of: shown, codes: codesOf(shown, colors) };
    return last.codes;
  });
}
