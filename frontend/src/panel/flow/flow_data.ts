// Fetches what the heat map shows while it is looked at, and ties it to rows, colors and the window.

import { batch, computed, effect, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { listScalars, readScalar } from "../../api/read_flow";
import { Disposer, type Dispose } from "../../base/disposer";
import type { Rect, Size } from "../../base/geometry";
import { codesOf, comparedCodesOf, paletteOf, ratioPaletteOf, type Palette } from "../../draw/flow/flow_codes";
import type { Cells } from "../../draw/flow/paint_cells";
import type { ScalarLine } from "../../draw/flow/paint_scalar";
import type { ColorScale } from "../../draw/style/color_scale";
import { computeFlow, thinning, type Flow } from "../../model/flow/flow";
import { entityOf, listRows, rowShowing, type FlowRow } from "../../model/flow/flow_rows";
import { columnAxis, rowAxis, type Axis } from "../../model/flow/flow_window";
import { lossTag, valueScale, type ScalarSeries } from "../../model/flow/scalar_line";
import { BACKWARD, distinctSteps, lengthOf } from "../../model/recorded/run";
import { positionOf } from "../../model/recorded/step_axis";
import type { Store } from "../../state/store";
import type { Around } from "../view/view";
import { createFlowState, openAtFirst, openRowsAround, type FlowState } from "./flow_actions";
import { comparedOf, followTheirs, readNew } from "./flow_numbers";

// Where things are on the screen.
export interface Sight {
  readonly columns: Axis;
  readonly rows: Axis;
  readonly map: Rect;
  readonly line: Rect | undefined;
}

export interface Flowing {
  readonly state: FlowState;
  readonly own: Signal<Flow | undefined>; // of what is shown
  readonly flow: ReadonlySignal<Flow | undefined>; // the same; while something is compared, a ComparedFlow
  readonly problem: Signal<string | undefined>;
  readonly rows: ReadonlySignal<readonly FlowRow[]>;
  readonly row: ReadonlySignal<number>; // of what is selected; -1: none
  readonly column: ReadonlySignal<number>; // of the step that is shown; -1: it has none
  readonly position: ReadonlySignal<number | undefined>; // the same between columns
  readonly scale: ReadonlySignal<ColorScale>;
  readonly palette: ReadonlySignal<Palette>;
  readonly cells: ReadonlySignal<Cells | undefined>;
  readonly tags: Signal<readonly string[]>; // scalars of the run
  readonly lineTag: ReadonlySignal<string>; // of the line; "": none
  readonly line: ReadonlySignal<ScalarLine | undefined>;
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
  const tags = signal<readonly string[]>([]);
  const scalar = signal<ScalarSeries | undefined>(undefined);
  const size = signal<Size>({ width: 0, height: 0 });
  const rows = computed(() => (flow.value === undefined ? [] : listRows(flow.value.hierarchy, state.open.value ?? new Set(), flow.value.shown)));
  const steps = computed(() => flow.value?.steps ?? []);
  const position = computed(() => (store.ref.value === undefined || steps.value.length === 0 ? undefined : positionOf(steps.value, store.ref.value.step)));
  const lineTag = computed(() => {
    const chosen = state.scalarTag.value;
    return chosen !== undefined && (chosen === "" || tags.value.includes(chosen)) ? chosen : (lossTag(tags.value) ?? "");
  });
  const sight = computed(() => sightOf(state, size.value, steps.value.length, rows.value.length, lineTag.value !== ""));
  const { scale } = drawing;
  const plain = codesKept(store, scale, own);
  const codes = computed(() => (compared.value === undefined ? plain.value : comparedCodesOf(compared.value, store.compare.reach.value)));
  const disposer = new Disposer();
  const made: Flowing = {
    state, own, flow, problem, rows, tags, lineTag, size, sight, position, scale,
    row: computed(() => (flow.value === undefined ? -1 : rowShowing(flow.value.hierarchy, rows.value, store.selected.value))),
    palette: computed(() => (compared.value === undefined ? paletteOf : ratioPaletteOf)(drawing.theme.value)),
    column: computed(() => steps.value.indexOf(store.ref.value?.step ?? NaN)),
    cells: computed(() => {
      const [shown, colors] = [flow.value, codes.value];
      if (shown === undefined || colors === undefined) return undefined;
      // The row of an open module is its heading: what is in it has rows of its own.
      const entities = Int32Array.from(rows.value, (row) => (row.open ? -1 : entityOf(shown.hierarchy, row)));
      return { codes: colors, columns: shown.steps.length, entities };
    }),
    line: computed(() => {
      const series = scalar.value;
      if (series === undefined || series.tag !== lineTag.value || steps.value.length === 0) return undefined;
      return { series, positions: Float64Array.from(series.steps, (step) => positionOf(steps.value, step)), scale: valueScale(series.values) };
    }),
    close: () => disposer.dispose(),
  };
  disposer.add(effect(() => followNumbers(around, made)));
  disposer.add(effect(() => followTheirs(around, own, theirs)));
  disposer.add(effect(() => followTags(around, made)));
  disposer.add(effect(() => followScalar(around, made, scalar)));
  disposer.add(effect(() => {
    const [selected, shown] = [store.selected.value, store.hierarchy.value];
    if (around.isShown.value && selected !== undefined && shown !== undefined) openRowsAround(state, selected);
  }));
  return made;
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

// While the numbers of another statistic are on their way, those that are shown keep their colors.
function codesKept(store: Store, scale: ReadonlySignal<ColorScale>, flow: Signal<Flow | undefined>): ReadonlySignal<Uint16Array | undefined> {
  let last: { readonly of: Flow; readonly codes: Uint16Array } | undefined;
  return computed(() => {
    const [shown, colors, statistic] = [flow.value, scale.value, store.statistic.value];
    if (shown === undefined) return undefined;
    if (shown.statistic !== statistic && last?.of === shown) return last.codes;
    last = { of: shown, codes: codesOf(shown, colors) };
    return last.codes;
  });
}

function followNumbers({ store, client, isShown }: Around, { state, own: flow, problem }: Flowing): void {
  const [run, tag, hierarchy, statistic] = [store.run.value?.run, store.tag.value, store.hierarchy.value, store.statistic.value];
  const ref = store.ref.value;
  if (!isShown.value) return;
  if (run === undefined || tag === undefined || ref === undefined || hierarchy === undefined) {
    flow.value = undefined;
    return;
  }
  if (hierarchy.graph.hash !== ref.hash) return;
  const stage = tag.records.some((record) => record.stage === store.stage.value) ? store.stage.value : ref.stage;
  const backwardPass = stage === BACKWARD ? ref.backwardPass : 0;
  const key = [run, tag.tag, lengthOf(tag), hierarchy.graph.hash, hierarchy.graph.joint, hierarchy.turned, statistic.id, stage, backwardPass].join("\n");
  if (key === wanted.get(flow)) return;
  wanted.set(flow, key);
  const every = thinning(hierarchy, distinctSteps(tag.records).length);
  const query = { run, tag: tag.tag, hash: hierarchy.graph.hash, stage, backwardPass, every, columns: statistic.columns };
  void readNew(client, query, flow, tag.records).then((reply) => {
    if (wanted.get(flow) !== key) return;
    problem.value = reply.ok ? undefined : reply.error;
    if (!reply.ok) return void wanted.delete(flow);
    const began = performance.now();
    batch(() => {
      flow.value = computeFlow(hierarchy, reply.value, statistic, stage, every);
      openAtFirst(state, hierarchy, flow.value.shown);
    });
    performance.measure("gradgraph:flow-numbers", { start: began, end: performance.now() });
  });
}

// What each heat map shows or waits for.
const wanted = new WeakMap<Signal<Flow | undefined>, string>();

function followTags({ store, client, isShown }: Around, { tags }: Flowing): void {
  const run = store.run.value?.run;
  if (!isShown.value || run === undefined) return;
  void listScalars(client, run).then((reply) => {
    if (store.run.peek()?.run !== run) return;
    const found = reply.ok ? reply.value : [];
    // The same list again would take the line away and draw it anew.
    if (found.join("\n") !== tags.peek().join("\n")) tags.value = found;
  });
}

function followScalar({ store, client, isShown }: Around, { lineTag }: Flowing, scalar: Signal<ScalarSeries | undefined>): void {
  const [run, tag, records] = [store.run.value?.run, lineTag.value, store.tag.value];
  if (!isShown.value || run === undefined || records === undefined || tag === "") return;
  void readScalar(client, run, tag).then((reply) => {
    if (store.run.peek()?.run === run && lineTag.peek() === tag) scalar.value = reply.ok ? reply.value : undefined;
  });
}
