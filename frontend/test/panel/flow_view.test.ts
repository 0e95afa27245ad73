// The heat map on the screen: its cells, its cursor and the graph's, zoom, brush, keys, the line above.

import { expect, test } from "vitest";
import { spiked } from "../../fixtures/compared.mjs";
import {
  chainRule,
  flow,
  FLOW_STEPS,
  hostile,
  HOSTILE,
  onePassBad,
  training,
  transformer,
  withoutGradients,
} from "../../fixtures/examples.mjs";
import { rgbOf } from "../../src/draw/style/element_colors";
import { LIGHT } from "../../src/draw/style/theme";
import { readHash, writeHash } from "../../src/panel/session/host";
import { press, settle, useStage, waitFor } from "../stage";

const stage = useStage();

const rows = (): readonly HTMLElement[] => [...stage.place.querySelectorAll<HTMLElement>("[role=row]")];
const row = (key: string): HTMLElement => {
  const found = rows().find(({ dataset }) => dataset.key === key);
  if (found === undefined) throw new Error(`no row ${key}`);
  return found;
};
const canvas = (): HTMLCanvasElement => stage.one("flow-canvas") as HTMLCanvasElement;
const numbers = (name: "columns" | "rows" | "map"): readonly number[] => canvas().dataset[name]!.split(",").map(Number);
const shown = (): Promise<void> =>
  waitFor(() => {
    expect(rows().length).toBeGreaterThan(0);
    expect(numbers("columns")[3]).toBeGreaterThan(0);
  });

// Middle of a cell, on the canvas.
function middle(column: number, at: number): { x: number; y: number } {
  const [[from, , wide], [top, , high], [, mapTop]] = [numbers("columns"), numbers("rows"), numbers("map")];
  return { x: (column + 0.5 - from!) * wide!, y: mapTop! + (at + 0.5 - top!) * high! };
}

function pointer(type: string, { x, y }: { x: number; y: number }, more: MouseEventInit = {}): void {
  const { left, top } = canvas().getBoundingClientRect();
  canvas().dispatchEvent(new PointerEvent(type, { clientX: left + x, clientY: top + y, bubbles: true, cancelable: true, ...more }));
}

function click(point: { x: number; y: number }): void {
  pointer("pointerdown", point);
  pointer("pointerup", point);
}

function drag(from: { x: number; y: number }, to: { x: number; y: number }, more: MouseEventInit = {}): void {
  pointer("pointerdown", from, more);
  pointer("pointermove", to, more);
  pointer("pointerup", to, more);
}

function wheel(point: { x: number; y: number }, deltaY: number, more: WheelEventInit = {}): void {
  const { left, top } = canvas().getBoundingClientRect();
  canvas().dispatchEvent(
    new WheelEvent("wheel", { clientX: left + point.x, clientY: top + point.y, deltaY, bubbles: true, cancelable: true, ...more }),
  );
}

const show = async (run = flow(), hash = "p.gradgraph.view=flow"): Promise<void> => {
  writeHash(hash);
  stage.show(run);
  await shown();
};
const step = (): string => (stage.one("step") as HTMLInputElement).value;

test("one huge and one tiny number do not stretch the scale; they are marked at its ends, with their values", async () => {
  await show(spiked(), "p.gradgraph.view=flow&p.gradgraph.step=0");
  await waitFor(() => expect(stage.one("flow-legend")!.textContent).toContain("≥ "));
  const legend = stage.one("flow-legend")!;
  expect(legend.textContent).toContain("≤ ");
  expect(Number(legend.dataset.high)).toBeLessThan(500);
  expect(Number(legend.dataset.low)).toBeGreaterThan(0.1);
  expect(legend.querySelector(".ramp.below.above")).not.toBeNull();
  stage.one("expand-all")?.click();
  await waitFor(() => expect(row("parameter:up.weight")).toBeDefined());
  pointer("pointermove", middle(17, rows().indexOf(row("parameter:up.weight"))));
  await waitFor(() => expect(stage.one("flow-tooltip")!.textContent).toContain("L2 norm 20000000000"));
});

test("a link opens it; the switch goes to the graph and back, and the link follows", async () => {
  await show();
  expect(rows().map(({ dataset }) => dataset.key)).toContain("parameter:up.weight");
  stage.one("view-graph")!.click();
  await stage.drawn("parameter:up.weight");
  await waitFor(() => expect(readHash()).not.toContain("view="));
  stage.one("view-flow")!.click();
  await shown();
  await waitFor(() => expect(readHash()).toContain("p.gradgraph.view=flow"));
});

test("rows show their number at the step, and their place in the tree", async () => {
  await show(flow(), "p.gradgraph.view=flow&p.gradgraph.step=20");
  await waitFor(() => expect(row("parameter:up.weight").dataset.value).toBe("0.01"));
  expect(row("parameter:up.weight").getAttribute("aria-level")).toBe("3");
  expect(row("up#0").getAttribute("aria-expanded")).toBe("true");
  expect(row("parameter:up.bias").dataset.value).toBe("–");
  expect(stage.one("flow-rows")!.getAttribute("aria-rowcount")).toBe("9");
  stage.choose("statistic", "zero_fraction");
  await waitFor(() => expect(row("parameter:up.weight").dataset.value).toBe("0.5"));
});

test("NaN and zero have their colors on the canvas", async () => {
  await show();
  const at = Number(row("parameter:up.weight").dataset.row);
  const pixel = (column: number): number[] => {
    const { x, y } = middle(column, at);
    return [
      ...canvas()
        .getContext("2d")!
        .getImageData(x * devicePixelRatio, y * devicePixelRatio, 1, 1)
        .data.subarray(0, 3),
    ];
  };
  await waitFor(() => expect(pixel(3)).toEqual([...rgbOf(LIGHT.nonfinite)]));
  expect(pixel(4)).toEqual([...rgbOf(LIGHT.zero)]);
  expect([[...rgbOf(LIGHT.none)], [...rgbOf(LIGHT.noneLine)]]).toContainEqual(pixel(5));
});

test("a step is marked at the top of its column even if the shown pass has no NaN; a text says which pass has", async () => {
  await show(onePassBad(), "p.gradgraph.view=flow&p.gradgraph.step=1&p.gradgraph.pass=3");
  const pixel = (column: number): number[] => {
    const { x, y } = middle(column, 0);
    const head = y - numbers("rows")[2]! / 2 - 3;
    return [
      ...canvas()
        .getContext("2d")!
        .getImageData(x * devicePixelRatio, head * devicePixelRatio, 1, 1)
        .data.subarray(0, 3),
    ];
  };
  await waitFor(() => expect(pixel(1)).toEqual([...rgbOf(LIGHT.nonfinite)]));
  expect(pixel(0)).not.toEqual([...rgbOf(LIGHT.nonfinite)]);
  const at = Number(row("parameter:w").dataset.row);
  pointer("pointermove", middle(1, at));
  await waitFor(() => expect(stage.one("flow-tooltip")!.textContent).toContain("step 1: L2 norm 2NaN or infinity in this step: pass 3"));
  pointer("pointermove", middle(0, at));
  await waitFor(() => expect(stage.one("flow-tooltip")!.textContent).toContain("step 0"));
  expect(stage.one("flow-tooltip")!.textContent).not.toContain("NaN");
});

test("operations that were not recorded are counted, with what records them", async () => {
  await show();
  expect(stage.one("flow-told")!.textContent).toContain('1 operation without a gradient (level="op" records those inside modules).');
});

test("for a step that was read only once, the text names no pass", async () => {
  await show();
  pointer("pointermove", middle(3, Number(row("parameter:down.weight").dataset.row)));
  await waitFor(() => expect(stage.one("flow-tooltip")!.textContent).toMatch(/NaN or infinity in this step(train|$)/));
});

test("a click goes to the step and the row, as in the graph; pointing shows the number", async () => {
  await show();
  const at = Number(row("parameter:down.weight").dataset.row);
  pointer("pointermove", middle(2, at));
  await waitFor(() => expect(stage.one("flow-tooltip")!.textContent).toContain("step 20: L2 norm 0.02"));
  expect(stage.one("flow-tooltip")!.textContent).toContain("down.weight");
  expect(stage.one("flow-tooltip")!.textContent).toContain("train/loss 80");
  click(middle(2, at));
  await waitFor(() => expect(row("parameter:down.weight").getAttribute("aria-selected")).toBe("true"));
  expect(step()).toBe("20");
  expect(stage.one("flow-said")!.textContent).toBe("down.weight (weight), step 20: L2 norm 0.02");
  press("g");
  await stage.drawn("parameter:down.weight");
  expect(stage.item("parameter:down.weight").getAttribute("aria-selected")).toBe("true");
  expect(step()).toBe("20");
});

test("the selection in the graph is the row, and its module opens for it", async () => {
  await show();
  stage.one("collapse-all")!.click();
  await waitFor(() => expect(rows()).toHaveLength(4));
  stage.one("view-graph")!.click();
  await stage.find("down.weight", "parameter:down.weight");
  press("g");
  await shown();
  await waitFor(() => expect(row("parameter:down.weight").getAttribute("aria-selected")).toBe("true"));
  expect(row("up#0").getAttribute("aria-expanded")).toBe("false");
});

test("keys: arrows move the cursor, Enter opens and closes, plus and minus zoom, F shows everything", async () => {
  await show(flow(), "p.gradgraph.view=flow&p.gradgraph.step=50");
  press("ArrowDown");
  await waitFor(() => expect(row("#0").getAttribute("aria-selected")).toBe("true"));
  press("ArrowDown");
  press("Enter");
  await waitFor(() => expect(row("up#0").getAttribute("aria-expanded")).toBe("false"));
  expect(rows().map(({ dataset }) => dataset.key)).not.toContain("parameter:up.weight");
  press("ArrowRight");
  await waitFor(() => expect(step()).toBe("60"));
  press("+");
  await waitFor(() => expect(numbers("columns")[1]! - numbers("columns")[0]!).toBe(7.5)); // as wide as a column gets
  press("End");
  await waitFor(() => expect(numbers("columns")[1]).toBe(FLOW_STEPS));
  press("f");
  await waitFor(() => expect(numbers("columns").slice(0, 2)).toEqual([0, FLOW_STEPS]));
  press("ArrowUp");
  press("ArrowUp");
  await waitFor(() => expect(row("#0").getAttribute("aria-selected")).toBe("true"));
});

test("closing the module around the selected row selects the module", async () => {
  await show(flow(), "p.gradgraph.view=flow&p.gradgraph.sel=parameter%3Aup.weight");
  await waitFor(() => expect(row("parameter:up.weight").getAttribute("aria-selected")).toBe("true"));
  row("up#0").querySelector<HTMLElement>(".twist")!.click();
  await waitFor(() => expect(row("up#0").getAttribute("aria-selected")).toBe("true"));
  expect(row("up#0").getAttribute("aria-expanded")).toBe("false");
});

test("the wheel zooms around the pointer, with Shift the rows; a double click shows everything", async () => {
  await show(transformer(12, 50));
  const point = middle(40, 3);
  wheel(point, -400);
  await waitFor(() => expect(numbers("columns")[1]! - numbers("columns")[0]!).toBeLessThan(30));
  expect(middle(40, 3).x).toBeCloseTo(point.x, 0);
  stage.one("expand-all")!.click();
  await waitFor(() => expect(numbers("rows")[3]).toBeGreaterThan(100));
  const all = numbers("rows")[1]!;
  wheel(point, -400, { shiftKey: true });
  await waitFor(() => expect(numbers("rows")[1]! - numbers("rows")[0]!).toBeLessThan(all * 0.7));
  pointer("dblclick", point);
  await waitFor(() => expect([...numbers("columns").slice(0, 2), ...numbers("rows").slice(0, 2)]).toEqual([0, 50, 0, all]));
});

test("a drag shows the steps in it, a slanted one the rows too; with Shift it moves them", async () => {
  await show(transformer(12, 50));
  stage.one("expand-all")!.click();
  await waitFor(() => expect(numbers("rows")[3]).toBeGreaterThan(100));
  drag({ ...middle(10, 40) }, { ...middle(19, 40) });
  await waitFor(() => expect(numbers("columns").slice(0, 2)).toEqual([10, 20]));
  expect(numbers("rows")[0]).toBe(0);
  drag(middle(15, 40), { x: middle(13, 40).x, y: middle(13, 40).y }, { shiftKey: true });
  await waitFor(() => expect(numbers("columns")[0]).toBeCloseTo(12, 1));
  stage.one("flow-reset")!.click();
  await waitFor(() => expect(numbers("columns")[1]).toBe(50));
  drag(middle(10, 30), middle(19, 79));
  await waitFor(() => expect(numbers("columns").slice(0, 2)).toEqual([10, 20]));
  expect(numbers("rows").slice(0, 2)).toEqual([30, 80]);
});

test("the loss is above it; another scalar can be chosen, or none", async () => {
  await show(flow(), "p.gradgraph.view=flow&p.gradgraph.step=20");
  await waitFor(() => expect((stage.one("scalar") as HTMLSelectElement).value).toBe("train/loss"));
  await waitFor(() => expect(stage.one("scalar-value")!.textContent).toBe("80"));
  stage.choose("scalar", "lr");
  await waitFor(() => expect(stage.one("scalar-value")!.textContent).toBe("0.1"));
  await waitFor(() => expect(readHash()).toContain("p.gradgraph.scalar=lr"));
  const top = numbers("map")[1]!;
  stage.choose("scalar", "");
  await waitFor(() => expect(numbers("map")[1]).toBeLessThan(top));
});

test("a run without scalars has no line; one step and one row do not fill the map", async () => {
  await show(chainRule());
  expect(stage.one("scalar")).toBeNull();
  expect(numbers("columns")[2]).toBeLessThanOrEqual(120);
  expect(numbers("rows")[2]).toBeLessThanOrEqual(26);
});

test("without any gradient it says so, and all cells are hatched", async () => {
  await show(withoutGradients());
  expect(stage.one("no-gradients")).not.toBeNull();
  expect(rows().every(({ dataset }) => dataset.value === "–" || dataset.value === "")).toBe(true);
});

test("a later stage has only parameters; a step without it is between the columns", async () => {
  await show(training(), "p.gradgraph.view=flow&p.gradgraph.stage=applied&p.gradgraph.step=20");
  await waitFor(() => expect(numbers("columns")[3]).toBe(2));
  expect(rows().map(({ dataset }) => dataset.key)).toEqual(["parameter:w", "parameter:spare"]);
  expect(row("parameter:w").dataset.value).toBe("1");
  press("ArrowLeft");
  await waitFor(() => expect(step()).toBe("10"));
  await waitFor(() => expect(row("parameter:w").dataset.value).toBe(""));
});

test("names are never markup", async () => {
  await show(hostile());
  expect(stage.place.querySelector("img, script")).toBeNull();
  expect(stage.one("flow-rows")!.textContent).toContain(HOSTILE.slice(0, 10));
  await settle(50);
  expect(stage.place.querySelector("img, script")).toBeNull();
});
