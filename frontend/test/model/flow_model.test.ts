// The heat map without a screen: rows, what a row says, zoom arithmetic, colors, where steps lie.

import { expect, test } from "vitest";
import { flow as flowRun, FLOW_STEPS, states, training, transformer, twoStructures, withoutGradients } from "../../fixtures/examples.mjs";
import type { FrameArray } from "../../src/api/frame";
import { parsePage } from "../../src/api/read_flow";
import { codesOf, NONE, NOTHING, paletteOf } from "../../src/draw/flow/flow_codes";
import { paintCells } from "../../src/draw/flow/paint_cells";
import { makeScale } from "../../src/draw/style/color_scale";
import { DARK, LIGHT } from "../../src/draw/style/theme";
import { fencesOf } from "../../src/model/charts/bulk";
import { cellAt, MOST_CELLS, thinning, type Flow } from "../../src/model/flow/flow";
import { entityCount, entityOf, everyGroup, listRows, openedFor, pathTo, rowShowing, type FlowRow } from "../../src/model/flow/flow_rows";
import {
  brushSpan,
  columnAxis,
  fromPx,
  panSpan,
  rowAxis,
  rowsInSight,
  scaleRows,
  seekTop,
  clampTop,
  seekSpan,
  toPx,
  unitAt,
  zoomSpan,
  type Axis,
} from "../../src/model/flow/flow_window";
import { lossTag, valueAt, valueScale } from "../../src/model/flow/scalar_line";
import { DEFAULT_STATISTIC, statisticOf } from "../../src/model/recorded/statistics";
import { columnTicks, positionOf } from "../../src/model/recorded/step_axis";
import { computeValues, State } from "../../src/model/visible/values";
import { flowOf, hierarchyOf, recordAt, spread } from "../fixture";

const rowsOf = (flow: Flow, open: ReadonlySet<string> = everyGroup(flow.hierarchy)): readonly FlowRow[] =>
  listRows(flow.hierarchy, open, flow.shown);
const ids = (rows: readonly FlowRow[]): readonly string[] => rows.map(({ id }) => id);
const cell = (flow: Flow, id: string, column: number): { value: number; state: State } => {
  const row = rowsOf(flow).find((one) => one.id === id);
  if (row === undefined) throw new Error(`no ${id}`);
  return cellAt(flow, entityOf(flow.hierarchy, row), column)!;
};

test("rows are modules and nodes in forward order, parameters under their module", () => {
  const flow = flowOf(flowRun());
  expect(rowsOf(flow).map(({ id, depth }) => [id, depth])).toEqual([
    ["#0", 0],
    ["up#0", 1],
    ["parameter:up.weight", 2],
    ["parameter:up.bias", 2],
    ["up#0/AddmmBackward0.0", 2],
    ["down#0", 1],
    ["parameter:down.weight", 2],
    ["down#0/AddmmBackward0.0", 2],
    ["root:loss", 0],
  ]);
});

test("a node that was never recorded has no row and is counted; a frozen one has a row", () => {
  const flow = flowOf(flowRun());
  expect(flow.leftOut).toBe(1);
  expect(ids(rowsOf(flow))).not.toContain("#0/ReluBackward0.0");
  expect(cell(flow, "parameter:up.bias", 0).state).toBe(State.none);
});

test("a run without gradients shows all its nodes, none of them with a number", () => {
  const flow = flowOf(withoutGradients());
  expect(flow.leftOut).toBe(0);
  expect(rowsOf(flow).length).toBeGreaterThan(1);
  expect([...flow.state].every((state) => state === State.none)).toBe(true);
});

test("a closed module is one row; its contents are found as the module", () => {
  const flow = flowOf(flowRun());
  const rows = rowsOf(flow, new Set(["#0", "down#0"]));
  expect(ids(rows)).toEqual(["#0", "up#0", "down#0", "parameter:down.weight", "down#0/AddmmBackward0.0", "root:loss"]);
  expect(rowShowing(flow.hierarchy, rows, "parameter:up.weight")).toBe(1);
  expect(rowShowing(flow.hierarchy, rows, "parameter:down.weight")).toBe(3);
  expect(rowShowing(flow.hierarchy, rows, "nothing")).toBe(-1);
  expect(pathTo(flow.hierarchy, "parameter:up.weight")).toEqual(["#0", "up#0"]);
  expect([...openedFor(flow.hierarchy, new Set(["#0"]), "parameter:up.weight")]).toEqual(["#0", "up#0"]);
});

test("numbers and states are those of the graph at every step, of nodes and groups", () => {
  for (const run of [flowRun(), states(), transformer(2, 9), withoutGradients()]) {
    for (const id of ["l2_norm", "std", "min", "zero_fraction", "nonfinite"]) {
      const statistic = statisticOf(id)!;
      const flow = flowOf(run, statistic);
      flow.steps.forEach((step, column) => {
        const expected = computeValues(flow.hierarchy, recordAt(run, step), statistic);
        for (const [values, offset] of [
          [expected.nodes, 0],
          [expected.groups, flow.hierarchy.graph.nodeCount],
        ] as const) {
          values.state.forEach((state, i) => {
            const at = (offset + i) * flow.steps.length + column;
            expect([flow.state[at], flow.value[at]]).toEqual([state, values.value[i]]);
          });
        }
      });
    }
  }
});

test("a module has the greatest number inside, and a NaN inside is never hidden", () => {
  const flow = flowOf(flowRun());
  expect(cell(flow, "up#0", 0).value).toBeCloseTo(1);
  expect(cell(flow, "up#0", 3).state).toBe(State.nonfinite);
  expect(cell(flow, "#0", 3).state).toBe(State.nonfinite);
  expect(cell(flow, "parameter:up.weight", 4)).toEqual({ value: 0, state: State.zero });
  expect(cell(flow, "parameter:up.weight", 5).state).toBe(State.none);
  expect(cell(flow, "parameter:down.weight", 7).state).toBe(State.nonfinite);
  expect(Number.isNaN(cell(flow, "parameter:down.weight", 7).value)).toBe(true);
});

test("a later stage has only parameters, and only steps with this stage", () => {
  const flow = flowOf(training(), DEFAULT_STATISTIC, "applied");
  expect(flow.steps).toEqual([0, 20]);
  expect(ids(rowsOf(flow))).toEqual(["parameter:w", "parameter:spare"]);
});

test("different graphs are joined by the keys of their nodes", () => {
  const run = twoStructures();
  const flow = flowOf(run);
  expect(flow.steps).toEqual(run.records.map(({ step }) => step));
  expect(flow.state.some((state) => state === State.number)).toBe(true);
});

test("if there are more numbers than fit, every n-th step is kept", () => {
  const hierarchy = hierarchyOf(flowRun());
  const steps = Math.floor(MOST_CELLS / entityCount(hierarchy));
  expect(thinning(hierarchy, steps)).toBe(1);
  expect(thinning(hierarchy, steps + 1)).toBe(2);
  expect(thinning(hierarchy, 3 * steps)).toBe(3);
});

const TOP = { top: 0, rowPx: undefined };
const COLUMNS: Axis = { from: 0, to: 1000, unitPx: 0.9, count: 1000 };

test("axes fill their space, but a single step or row does not fill all of it", () => {
  expect(columnAxis(undefined, 100, 500)).toEqual({ from: 0, to: 100, unitPx: 5, count: 100 });
  expect(columnAxis(undefined, 1, 500)).toMatchObject({ from: 0, to: 1, unitPx: 120 });
  expect(rowAxis(TOP, 2, 500)).toMatchObject({ from: 0, to: 2, unitPx: 26 });
  expect(rowAxis(TOP, 20, 440)).toMatchObject({ from: 0, to: 20, unitPx: 22 });
  expect(columnAxis(undefined, 0, 500).to).toBe(0);
});

test("zooming keeps the point under the pointer, and is limited at both ends", () => {
  const span = zoomSpan(COLUMNS, 2, 250)!;
  expect(span).toEqual([125, 625]);
  const zoomed = columnAxis(span, 1000, 900);
  expect(toPx(zoomed, 250)).toBeCloseTo(toPx(COLUMNS, 250));
  expect(fromPx(zoomed, toPx(zoomed, 321))).toBeCloseTo(321);
  expect(zoomSpan(COLUMNS, 1e6, 500)).toEqual([498, 502]);
  expect(zoomSpan(zoomed, 0.1, 300)).toBeUndefined();
  expect(zoomSpan(zoomed, 0.75, 125)![0]).toBeCloseTo(125);
});

test("panning stops at the ends; a drag selects whole units; the cursor is made visible", () => {
  const zoomed = columnAxis([100, 200], 1000, 900);
  expect(panSpan(zoomed, -1e9)).toEqual([0, 100]);
  expect(panSpan(zoomed, 1e9)).toEqual([900, 1000]);
  expect(panSpan(COLUMNS, 5)).toBeUndefined();
  expect(brushSpan(zoomed, 10, 44)).toEqual([101, 105]);
  expect(brushSpan(zoomed, 44, 10)).toEqual([101, 105]);
  expect(brushSpan(COLUMNS, -50, 5000)).toBeUndefined();
  expect(seekSpan(zoomed, 150)).toBeUndefined();
  expect(seekSpan(zoomed, 200)).toEqual([101, 201]);
  expect(seekSpan(zoomed, 7)).toEqual([7, 107]);
  expect([unitAt(zoomed, 0), unitAt(zoomed, 899), unitAt(zoomed, -1), unitAt(columnAxis(undefined, 2, 900), 500)]).toEqual([
    100, 199, -1, -1,
  ]);
});

test("rows that do not fit are scrolled, at a height that has room for a name", () => {
  const axis = rowAxis({ ...TOP, top: 30 }, 100, 180);
  expect(axis).toEqual({ from: 30, to: 40, unitPx: 18, count: 100 });
  expect(rowsInSight(axis)).toEqual([30, 31, 32, 33, 34, 35, 36, 37, 38, 39]);
  expect(rowsInSight(rowAxis({ ...TOP, top: 30.5 }, 100, 180))).toHaveLength(11);
  expect(rowAxis({ ...TOP, top: 1e9 }, 100, 180)).toMatchObject({ from: 90, to: 100 });
  expect([clampTop(axis, -1e9), clampTop(axis, 1e9), clampTop(axis, 1)]).toEqual([0, 90, 31]);
  expect(rowsInSight(rowAxis(TOP, 0, 200))).toEqual([]);
  const higher = scaleRows(axis, 1.25, 34);
  expect(toPx(rowAxis(higher, 100, 180), 34)).toBeCloseTo(toPx(axis, 34));
  expect(scaleRows(axis, 1e-9, 34).rowPx).toBe(14);
});

test("a row that is sought is not left under the headers of its groups", () => {
  const axis = rowAxis({ ...TOP, top: 30 }, 100, 180);
  expect(seekTop(axis, 35, 2)).toBeUndefined();
  expect(seekTop(axis, 31, 2)).toBe(29);
  expect(seekTop(axis, 5, 2)).toBe(3);
  expect(seekTop(axis, 1, 2)).toBe(0);
  expect(seekTop(axis, 40, 2)).toBe(31);
});

test("steps between recorded ones are interpolated", () => {
  const steps = [0, 10, 30];
  expect([0, 5, 10, 20, 30, 40, -10].map((step) => positionOf(steps, step))).toEqual([0.5, 1, 1.5, 2, 2.5, 3, -0.5]);
  expect(positionOf([7], 7)).toBe(0.5);
  expect([positionOf([7], 1e9), positionOf([7], -1e9), positionOf([], 3)]).toEqual([1, 0, 0]);
  expect(columnTicks(0, 1000, 1000, 0.9, 64)).toEqual([0, 100, 200, 300, 400, 500, 600, 700, 800, 900]);
  expect(columnTicks(10.5, 14, 1000, 90, 64)).toEqual([11, 12, 13]);
});

test("the loss is found by its name, and its scale is logarithmic over more than two decades", () => {
  expect(lossTag(["lr", "val/loss", "train/loss", "train/loss_aux"])).toBe("train/loss");
  expect(lossTag(["epoch", "eval_loss"])).toBe("eval_loss");
  expect(lossTag(["accuracy", "lr"])).toBeUndefined();
  expect(valueScale([NaN, Infinity])).toBeUndefined();
  expect(valueScale([1, 50])!.log).toBe(false);
  expect(valueScale([-1, 5000])!.log).toBe(false);
  const scale = valueScale([1, NaN, 10_000])!;
  expect([scale.log, scale.low, scale.high]).toEqual([true, 1, 10_000]);
  expect(scale.position(100)).toBeCloseTo(0.5);
  expect(valueScale([3, 3])!.position(3)).toBeCloseTo(0.5);
  const series = { tag: "loss", steps: [2, 4], values: Float64Array.of(1, 9) };
  expect([1, 2, 3, 4, 9].map((step) => valueAt(series, step))).toEqual([undefined, 1, 1, 9, 9]);
  // A quantity belongs to its step.
  expect([1, 2, 3, 4, 9].map((step) => valueAt({ ...series, isOfStep: true }, step))).toEqual([undefined, 1, undefined, 9, undefined]);
});

const hexOf = (pixel: number): string => `#${[0, 8, 16].map((shift) => ((pixel >> shift) & 255).toString(16).padStart(2, "0")).join("")}`;

test("each cell has the color that the graph gives that number, in both themes", () => {
  const flow = flowOf(flowRun());
  for (const theme of [LIGHT, DARK]) {
    const scale = makeScale(DEFAULT_STATISTIC, spread(1e-9, 2), theme);
    const [codes, palette] = [codesOf(flow, scale), paletteOf(theme, "gradient")];
    flow.state.forEach((state, at) => expect(hexOf(palette.colors[codes[at]!]!)).toBe(scale.fill(flow.value[at]!, state as State)));
    expect([hexOf(palette.lines[NONE]!), palette.lean[NONE]]).toEqual([theme.noneLine, 1]);
    expect(hexOf(palette.colors[NOTHING]!)).toBe(theme.background);
  }
});

test("outliers are distinguished from the others", () => {
  const spread = Array.from({ length: 98 }, (_, i) => i);
  const [low, high] = fencesOf(Float64Array.from([...spread, 1e6, -1e6]))!;
  expect([low, high]).toEqual([expect.closeTo(-0.25 * 95 + 1, 5), expect.closeTo(96 + 0.25 * 95, 5)]);
  expect(fencesOf(new Float64Array(0))).toBeUndefined();
  expect(fencesOf(Float64Array.of(1, 50))).toEqual([expect.closeTo(1 - 49 / 4, 5), expect.closeTo(50 + 49 / 4, 5)]);
});

function paint(codes: readonly number[], columns: number, width: number, height: number): Uint32Array {
  const image = new ImageData(width, height);
  const rows = codes.length / columns;
  const cells = { codes: Uint16Array.from(codes), columns, entities: Int32Array.from({ length: rows }, (_, i) => i) };
  const across = { from: 0, to: columns, unitPx: width / columns, count: columns };
  const colors = Uint32Array.from({ length: 300 }, (_, i) => i);
  const palette = { colors, lines: colors.map((color) => color + 1000), lean: new Int8Array(300).fill(1, NONE, NONE + 1) };
  paintCells(image, cells, across, { from: 0, to: rows, unitPx: height / rows, count: rows }, 1, palette);
  return new Uint32Array(image.data.buffer);
}

test("a pixel that many cells share shows the greatest of them; wide cells are separated", () => {
  expect([...paint([5, 9, 7, 6, 100, 3, 4, 8], 8, 4, 1)]).toEqual([9, 7, 100, 8]);
  expect([...paint([5, 9, 7, 6], 1, 1, 2)]).toEqual([9, 7]);
  expect([...paint([5, 9], 2, 6, 1)]).toEqual([5, 5, 5, 9, 9, 9]);
  const apart = paint([5, 9], 2, 20, 1);
  expect([apart[0], apart[8], apart[9], apart[10], apart[18], apart[19]]).toEqual([5, 5, NOTHING, 9, 9, NOTHING]);
  expect(paint([NONE], 1, 13, 1).filter((pixel) => pixel === NONE + 1000)).toHaveLength(2);
});

test("a thousand rows of two thousand steps lose no single cell", () => {
  const codes = new Array<number>(1000 * 2000).fill(10);
  codes[777 * 2000 + 1234] = 200;
  const pixels = paint(codes, 2000, 900, 600);
  const found = pixels.indexOf(200);
  expect(Math.floor(found / 900)).toBe(Math.floor(777 * 0.6));
  expect(Math.abs((found % 900) - 1234 * 0.45)).toBeLessThan(1.01);
});

test("a truncated answer is reported, not drawn", () => {
  const header = { statistic: "l2_norm", slots: 3, from: 0, total: 2, steps: [0, 1] };
  const page = parsePage({
    header,
    arrays: new Map<string, FrameArray>([
      ["values", new Float32Array(5)],
      ["arrived", new Uint8Array(6)],
    ]),
  });
  expect(page).toEqual({ ok: false, error: "flow: expected 6 values, got 5." });
  expect(parsePage({ header, arrays: new Map([["values", new Float32Array(6)]]) }).ok).toBe(false);
  expect(FLOW_STEPS).toBe(flowRun().records.length);
});
