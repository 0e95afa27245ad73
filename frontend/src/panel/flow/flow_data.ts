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
import { lossTag, valueScale, type ScalarSeries } from "../../model/flow/scalar_line";
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
  readonly tag: ReadonlySignal<string>; // of the line; "": none
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
    sight: computed(() => sightOf(state, size.value, steps.value.length, rows.value.length, scalar.tag.value !== "")),
    palette: computed(() => (compared.value === undefined ? paletteOf : ratioPaletteOf)(drawing.theme.value)),
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
  const series = signal<ScalarSeries | undefined>(undefined);
  const tag = computed(() => {
    const chosen = scalarTag.value;
    return chosen !== undefined && (chosen === "" || tags.value.includes(chosen)) ? chosen : (lossTag(tags.value) ?? "");
  });
  const line = computed(() => {
    const known = series.value;
    if (known === undefined || known.tag !== tag.value || steps.value.length === 0) return undefined;
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
        return isShown.value && run !== undefined && records !== undefined && tag.value !== ""
          ? ([run.run, tag.value, records] as const)
          : undefined;
      },
      ([run, name]) => readScalar(client, run, name),
      (reply) => (series.value = reply.ok ? reply.value : undefined),
    ),
  );
  return { tags, tag, line };
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
