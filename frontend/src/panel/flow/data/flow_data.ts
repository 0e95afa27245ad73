// Fetches the data of the heat map while it is visible, and connects it to rows, colors and the window.

import { computed, effect, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { Disposer, type Dispose } from "../../../base/disposer";
import type { Size } from "../../../base/geometry";
import { codesOf, comparedCodesOf, paletteOf, ratioPaletteOf, type Palette } from "../../../draw/flow/flow_codes";
import type { Cells } from "../../../draw/flow/paint_cells";
import type { ColorScale } from "../../../draw/style/color_scale";
import type { Flow } from "../../../model/flow/flow";
import { nestingOf } from "../../../model/flow/flow_headers";
import { isInTree, orderRows } from "../../../model/flow/flow_order";
import { entityOf, listRows, rowFor, rowShowing, type FlowRow } from "../../../model/flow/flow_rows";
import { columnAxis, type Axis } from "../../../model/flow/flow_window";
import { halfOf } from "../../../model/recorded/record";
import { positionOf } from "../../../model/recorded/step_axis";
import type { Store } from "../../../state/store";
import type { Around } from "../../view/view";
import { openAtFirst, openRowsAround } from "./flow_actions";
import { cellsIn, followCursor } from "./flow_area";
import { followOwn } from "./flow_numbers";
import { createScalar, type Scalar } from "./flow_scalar";
import { headOf, sightOf, type Selected, type Sight } from "./flow_sight";
import { createFlowState, type FlowState } from "./flow_state";
import { comparedOf, followTheirs } from "./flow_theirs";

const RESTS_MS = 200;

export interface Cursor {
  readonly row: ReadonlySignal<number>; // of what is selected; -1: none
  readonly column: ReadonlySignal<number>; // of the step that is shown; -1: it has none
  readonly position: ReadonlySignal<number | undefined>; // the same between columns
}

export interface Flowing {
  readonly state: FlowState;
  readonly own: Signal<Flow | undefined>; // of the shown record
  readonly flow: ReadonlySignal<Flow | undefined>; // the same; while something is compared, a ComparedFlow
  readonly problem: Signal<string | undefined>;
  readonly rows: ReadonlySignal<readonly FlowRow[]>; // that are scrolled, in the chosen order
  readonly pinned: ReadonlySignal<readonly FlowRow[]>; // that stay above them
  readonly cursor: Cursor;
  readonly palette: ReadonlySignal<Palette>;
  readonly cells: ReadonlySignal<Cells | undefined>;
  readonly pinnedCells: ReadonlySignal<Cells | undefined>;
  readonly scalar: Scalar;
  readonly size: Signal<Size>;
  // Parts of what is in sight; these two do not change while rows are scrolled.
  readonly columns: ReadonlySignal<Axis>;
  readonly head: ReadonlySignal<Pick<Sight, "line" | "strip">>;
  readonly sight: ReadonlySignal<Sight>;
  readonly selection: ReadonlySignal<Selected | undefined>; // the area, among these rows and columns
  readonly close: Dispose;
}

export function createFlowing(around: Around): Flowing {
  const { store, drawing } = around;
  const state = createFlowState(store);
  const own = signal<Flow | undefined>(undefined);
  const theirs = signal<readonly Flow[] | undefined>(undefined);
  const compared = computed(() => comparedOf(store, own.value, theirs.value));
  const flow = computed(() => compared.value ?? own.value);
  const problem = signal<string | undefined>(undefined);
  const size = signal<Size>({ width: 0, height: 0 });
  const steps = computed(() => flow.value?.steps ?? []);
  const plain = codesKept(store, drawing.scale, own);
  const codes = computed(() => (compared.value === undefined ? plain.value : comparedCodesOf(compared.value, store.compare.reach.value)));
  const tree = computed(() =>
    flow.value === undefined ? [] : listRows(flow.value.hierarchy, state.open.value ?? new Set(), flow.value.shown),
  );
  const column = computed(() => steps.value.indexOf(store.place.ref.value?.step ?? NaN));
  // Only one order depends on the step.
  const sortColumn = computed(() => (state.order.value.by === "value" ? column.value : -1));
  const rows = computed(() => (flow.value === undefined ? [] : orderRows(tree.value, flow.value, state.order.value, sortColumn.value)));
  const nesting = computed(() => (isInTree(state.order.value) ? nestingOf(rows.value) : undefined));
  const pinned = computed(() => {
    const hierarchy = flow.value?.hierarchy;
    return hierarchy === undefined ? [] : state.pins.value.flatMap((id) => rowFor(hierarchy, id) ?? []);
  });
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
  let resting: ReturnType<typeof setTimeout> | undefined;
  disposer.add(
    effect(() => {
      const window = state.window.value;
      clearTimeout(resting);
      resting = setTimeout(() => (state.rested.value = window), RESTS_MS);
    }),
  );
  disposer.add(() => clearTimeout(resting));
  const span = computed(() => state.window.value.columns);
  const columns = computed(() => columnAxis(span.value, steps.value.length, size.value.width));
  const head = computed(() => headOf(size.value, scalar.chosen.value !== ""));
  const row = computed(() => (flow.value === undefined ? -1 : rowShowing(flow.value.hierarchy, rows.value, store.shown.selected.value)));
  disposer.add(followCursor(state, rows, row, () => store.place.ref.value?.step));
  return {
    state,
    own,
    flow,
    problem,
    rows,
    pinned,
    size,
    scalar,
    cursor: {
      row,
      column,
      position: computed(() =>
        store.place.ref.value === undefined || steps.value.length === 0 ? undefined : positionOf(steps.value, store.place.ref.value.step),
      ),
    },
    columns,
    head,
    sight: computed(() =>
      sightOf({
        size: size.value,
        window: state.window.value,
        columns: columns.value,
        head: head.value,
        rows: rows.value,
        nesting: nesting.value,
        pinned: pinned.value.length,
      }),
    ),
    selection: computed(() => flow.value && cellsIn(flow.value, rows.value, state.area.value)),
    palette: computed(() => (compared.value === undefined ? paletteOf : ratioPaletteOf)(drawing.theme.value, halfOf(flow.value?.stage))),
    cells: computed(() => cellsOf(flow.value, codes.value, rows.value)),
    pinnedCells: computed(() => cellsOf(flow.value, codes.value, pinned.value)),
    close: () => disposer.dispose(),
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

// The row of an open module is a heading. Its contents have their own rows.
function cellsOf(flow: Flow | undefined, codes: Uint16Array | undefined, rows: readonly FlowRow[]): Cells | undefined {
  if (flow === undefined || codes === undefined) return undefined;
  const entities = Int32Array.from(rows, (row) => (row.open ? -1 : entityOf(flow.hierarchy, row)));
  return { codes, columns: flow.steps.length, entities };
}
