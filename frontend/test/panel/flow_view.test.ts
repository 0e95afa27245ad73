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
import { faulty } from "../../fixtures/trainings.mjs";
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

// The same run with the ReLU in another module.
const withReluIn = (scope: number): ReturnType<typeof flow> => {
  const run = flow();
  const { key, scope: scopes } = run.graph.nodes;
  (scopes as number[])[key.indexOf("#0/ReluBackward0.0")] = scope;
  return run;
};

test("operations without a gradient are counted; the level is advised only where it would record more", async () => {
  await show(withReluIn(2)); // used only in its module, as no operation with a gradient is
  expect(stage.one("flow-told")!.textContent).toContain('1 operation without a gradient (level="op" records those inside modules).');
  stage.show(withReluIn(1)); // now up's product is used only in its module, and has a gradient: the level is "op"
  await shown();
  await waitFor(() => expect(stage.one("flow-told")!.textContent).toContain("1 operation without a gradient. "));
  expect(stage.one("flow-told")!.textContent).not.toContain("level");
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

const opened = async (): Promise<void> => {
  await show(transformer(12, 50));
  stage.one("expand-all")!.click();
  await waitFor(() => expect(numbers("rows")[3]).toBeGreaterThan(100));
};

test("the wheel scrolls the rows, which keep their names; with Shift the steps, with Ctrl it zooms around the pointer", async () => {
  await opened();
  const point = middle(40, 12);
  expect(numbers("rows")[2]).toBe(18);
  const high = numbers("rows")[1]!;
  wheel(point, 18 * 20);
  await waitFor(() => expect(numbers("rows").slice(0, 2)).toEqual([20, 20 + high]));
  // Every row in sight has a name, beside its cells.
  const inSight = rows().filter(({ dataset }) => dataset.header === undefined);
  const top = stage.one("flow-canvas")!.getBoundingClientRect().top;
  for (const one of inSight) {
    const { top: at, height } = one.getBoundingClientRect();
    expect(at + height / 2 - top).toBeCloseTo(middle(0, Number(one.dataset.row)).y, 0);
  }
  const covered = Number(canvas().dataset.covered) / 18;
  expect(inSight.map(({ dataset }) => Number(dataset.row))).toEqual(
    Array.from({ length: Math.ceil(20 + high) - (20 + covered) }, (_, i) => 20 + covered + i),
  );
  wheel(point, -400, { ctrlKey: true });
  await waitFor(() => expect(numbers("columns")[1]! - numbers("columns")[0]!).toBeLessThan(30));
  expect(middle(40, 12).x).toBeCloseTo(point.x, 0);
  const [from, to, wide] = numbers("columns");
  wheel(point, -3 * wide!, { shiftKey: true });
  await waitFor(() => expect(numbers("columns")[0]).toBeCloseTo(from! - 3, 3));
  wheel(point, 0, { deltaX: 3 * wide! });
  await waitFor(() => expect(numbers("columns")[1]).toBeCloseTo(to!, 3));
  expect(numbers("rows")[0]).toBe(20);
  pointer("dblclick", point);
  await waitFor(() => expect(numbers("columns").slice(0, 2)).toEqual([0, 50]));
  wheel(point, 1e9);
  await waitFor(() => expect(numbers("rows")[1]).toBe(numbers("rows")[3]));
});

test("headers of open groups stay while what is inside is scrolled; a click goes to them", async () => {
  await opened();
  const list = stage.one("flow-rows")!;
  const headers = (): readonly string[] =>
    [...list.querySelectorAll<HTMLElement>("[data-header]")].sort((a, b) => a.offsetTop - b.offsetTop).map(({ dataset }) => dataset.key!);
  expect(headers()).toEqual([]);
  const inner = row("h.0#0");
  const at = Number(inner.dataset.row);
  wheel(middle(3, 12), 18 * (at + 2));
  await waitFor(() => expect(headers()).toContain("h.0#0"));
  const path = headers();
  // Each lies in the one before it, and the first row below them is inside the last.
  expect(path.map((key) => Number(row(key).getAttribute("aria-level")))).toEqual(path.map((_, i) => i + 1));
  const covered = Number(canvas().dataset.covered);
  expect(covered).toBe(18 * path.length);
  const { x } = middle(3, at);
  const pixel = canvas()
    .getContext("2d")!
    .getImageData(x * devicePixelRatio, (numbers("map")[1]! + covered / 2) * devicePixelRatio, 1, 1).data;
  expect([...pixel.subarray(0, 3)]).toEqual([...rgbOf(LIGHT.background)]); // no cell shows through
  row("h.0#0").click();
  await waitFor(() => expect(row("h.0#0").dataset.header).toBeUndefined());
  expect(row("h.0#0").getAttribute("aria-selected")).toBe("true");
});

test("keys scroll a page, and make rows higher but never too low for their names; the bar at the right has all rows", async () => {
  await opened();
  press("PageDown");
  await waitFor(() => expect(numbers("rows")[0]).toBeGreaterThan(5));
  const bar = stage.one("flow-scroll")!;
  expect(bar.getAttribute("aria-valuenow")).toBe(String(Math.round(numbers("rows")[0]!)));
  press("PageUp");
  await waitFor(() => expect(numbers("rows")[0]).toBe(0));
  for (let i = 0; i < 9; i++) press("[");
  await waitFor(() => expect(numbers("rows")[2]).toBe(14));
  for (let i = 0; i < 9; i++) press("]");
  await waitFor(() => expect(numbers("rows")[2]).toBe(26));
  press("f");
  await waitFor(() => expect(numbers("rows")[2]).toBe(18));
  const { left, bottom } = bar.getBoundingClientRect();
  const down = { clientX: left + 5, clientY: bottom - 1, buttons: 1, pointerId: 1 };
  bar.dispatchEvent(new PointerEvent("pointermove", down));
  await waitFor(() => expect(numbers("rows")[1]).toBe(numbers("rows")[3]));
  stage.one("collapse-all")!.click();
  await waitFor(() => expect(stage.one("flow-scroll")).toBeNull()); // all rows fit
});

test("the cursor is never left under a header", async () => {
  await opened();
  wheel(middle(3, 12), 18 * 40);
  await waitFor(() => expect(numbers("rows")[0]).toBe(40));
  const first = rows().find(({ dataset }) => dataset.header === undefined && Number(dataset.row) > 45)!;
  first.click();
  for (let i = 0; i < 12; i++) press("ArrowUp");
  const wanted = Number(first.dataset.row) - 12;
  await waitFor(() =>
    expect(
      rows()
        .find(({ dataset }) => dataset.row === String(wanted))
        ?.getAttribute("aria-selected"),
    ).toBe("true"),
  );
  const chosen = rows().find(({ dataset }) => dataset.row === String(wanted))!;
  if (chosen.dataset.header === undefined)
    expect(middle(0, wanted).y - 9).toBeGreaterThanOrEqual(numbers("map")[1]! + Number(canvas().dataset.covered) - 1);
});

test("a drag over the line or the numbers of the steps shows these steps; with Shift a drag moves the map", async () => {
  await opened();
  for (const y of [20, numbers("map")[1]! + numbers("map")[3]! + 10]) {
    drag({ x: middle(10, 0).x, y }, { x: middle(19, 0).x, y: y + 30 });
    await waitFor(() => expect(numbers("columns").slice(0, 2)).toEqual([10, 20]));
    expect(numbers("rows")[0]).toBe(0);
    if (y > 20) break;
    stage.one("flow-reset")!.click();
    await waitFor(() => expect(numbers("columns")[1]).toBe(50));
  }
  const { x, y } = middle(15, 12);
  drag({ x, y }, { x: x + 3 * numbers("columns")[2]!, y: y - 36 }, { shiftKey: true });
  await waitFor(() => expect(numbers("columns")[0]).toBeCloseTo(7, 1));
  expect(numbers("rows")[0]).toBe(2);
});

test("rows are sorted by their number, their slope, and the first step below a limit, and the link keeps it", async () => {
  await show(flow(), "p.gradgraph.view=flow&p.gradgraph.step=20");
  stage.choose("flow-order", "value");
  const keys = (): readonly string[] => rows().map(({ dataset }) => dataset.key!);
  const byValue = [
    "down#0/AddmmBackward0.0",
    "root:loss",
    "parameter:down.weight",
    "parameter:up.weight",
    "up#0/AddmmBackward0.0",
    "parameter:up.bias",
  ];
  await waitFor(() => expect(keys()).toEqual(byValue));
  expect(row("parameter:up.weight").textContent).toContain("up.weight");
  expect(stage.place.querySelector("[aria-expanded][role=row]")).toBeNull();
  stage.one("flow-reverse")!.click();
  await waitFor(() => expect(keys()[0]).toBe("up#0/AddmmBackward0.0"));
  expect(keys().at(-1)).toBe("parameter:up.bias"); // without a number it is last in both directions
  press("Home"); // the step changes, so the order does
  await waitFor(() => expect(keys().slice(0, 2)).toEqual(["up#0/AddmmBackward0.0", "parameter:up.weight"]));
  stage.choose("flow-order", "below");
  await waitFor(() => expect(stage.one("flow-below")).not.toBeNull());
  stage.choose("flow-below", "0.004");
  await waitFor(() => expect(readHash()).toContain("p.gradgraph.flow.sort=below.up"));
  expect(readHash()).toContain("p.gradgraph.flow.below=0.004");
  expect(keys().slice(0, 3)).toEqual(["up#0/AddmmBackward0.0", "parameter:down.weight", "parameter:up.weight"]); // at steps 30, 30 and 40
  stage.choose("flow-order", "depth");
  await waitFor(() => expect(keys()[0]).toBe("#0"));
  await waitFor(() => expect(readHash()).not.toContain("flow.sort"));
});

test("a row is pinned by its button or P, stays above the others, and is kept in the link", async () => {
  await opened();
  const last = rows()[8]!.dataset.key!;
  press("ArrowDown");
  press("p");
  await waitFor(() => expect(stage.place.querySelectorAll("[data-pinned]")).toHaveLength(1));
  row(last).querySelector<HTMLElement>(".flow-pin")!.click();
  await waitFor(() => expect(stage.place.querySelectorAll("[data-pinned]")).toHaveLength(2));
  wheel(middle(3, 12), 1e9);
  await waitFor(() => expect(numbers("rows")[1]).toBe(numbers("rows")[3]));
  const pinned = [...stage.place.querySelectorAll<HTMLElement>("[data-pinned]")];
  expect(pinned[1]!.dataset.key).toBe(last);
  expect(pinned[1]!.dataset.value).not.toBe("");
  await waitFor(() => expect(decodeURIComponent(readHash())).toContain(last));
  const { top, height } = pinned[1]!.getBoundingClientRect();
  const y = top + height / 2 - canvas().getBoundingClientRect().top;
  expect(y).toBeLessThan(numbers("map")[1]!);
  pointer("pointermove", { x: middle(2, 0).x, y });
  await waitFor(() => expect(stage.one("flow-tooltip")!.textContent).toContain("step"));
  pinned[1]!.querySelector<HTMLElement>(".flow-pin")!.click();
  await waitFor(() => expect(stage.place.querySelectorAll("[data-pinned]")).toHaveLength(1));
});

test("findings lie above the columns of their steps, also when these are zoomed; a click goes to one", async () => {
  await show(faulty());
  await waitFor(() => expect(stage.one("flow-lanes")).not.toBeNull());
  const bar = (kind: string): HTMLElement | null => stage.one("flow-lanes")!.querySelector<HTMLElement>(`[data-kind=${kind}]`);
  const extent = (kind: string): readonly number[] => [parseFloat(bar(kind)!.style.left), parseFloat(bar(kind)!.style.width)];
  const wide = numbers("columns")[2]!;
  expect(extent("nonfinite")).toEqual([expect.closeTo(3 * wide, 0), expect.closeTo(wide, 0)]);
  expect(extent("dead_units")).toEqual([expect.closeTo(7 * wide, 0), expect.closeTo(2 * wide, 0)]);
  drag({ x: middle(0, 0).x, y: 20 }, { x: middle(4, 0).x, y: 20 });
  await waitFor(() => expect(numbers("columns")[1]).toBe(7.5)); // as wide as a column gets
  expect(extent("nonfinite")[1]).toBeCloseTo(numbers("columns")[2]!, 0);
  expect(extent("dead_units")).toEqual([expect.closeTo(7 * numbers("columns")[2]!, 0), expect.closeTo(numbers("columns")[2]! / 2, 0)]); // cut off
  bar("nonfinite")!.click();
  await waitFor(() => expect(step()).toBe("30"));
  await waitFor(() => expect(row("parameter:up.weight").getAttribute("aria-selected")).toBe("true"));
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
