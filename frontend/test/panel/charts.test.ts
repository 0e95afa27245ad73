// Several lines in one chart: their data, and the view of charts.

import { expect, test } from "vitest";
import { loop, one, shared, two } from "../../fixtures/compared.mjs";
import { training } from "../../fixtures/examples.mjs";
import { columnEdges, columnsOf } from "../../src/model/charts/histogram_columns";
import { logTicks } from "../../src/model/charts/log_ticks";
import { smooth } from "../../src/model/charts/smoothing";
import { partsOf } from "../../src/panel/card/sections/shares";
import { nodeOfPin } from "../../src/panel/chart/pin_names";
import { chartedEntries, pinsOf, readCharted, type Charted } from "../../src/panel/charts/charts_state";
import { readHash, writeHash } from "../../src/panel/session/host";
import { formatAddress as formatOwn, parseAddress as parseOwn, readValues, type Address } from "../../src/state/address";
import { hierarchyOf } from "../fixture";
import { CLICK, pointAtChart, useStage, waitFor } from "../stage";

const stage = useStage();
const { show, choose, drawn, item, one: find } = stage;

test("smoothing is the weighted mean of earlier values; each step back has `weight` times the influence", () => {
  const values = [4, -2, 8, 1];
  const weight = 0.75;
  const expected = values.map((_, end) => {
    const weights = values.slice(0, end + 1).map((_, i) => weight ** (end - i));
    return values.slice(0, end + 1).reduce((sum, value, i) => sum + value * weights[i]!, 0) / weights.reduce((a, b) => a + b);
  });
  smooth(values, weight).forEach((value, i) => expect(value).toBeCloseTo(expected[i]!, 12));
  expect(smooth(values, 0)).toBe(values);
  expect(smooth([5, 5, null, 5], 0.9)).toEqual([5, 5, null, 5]);
  expect(smooth([1, null, NaN, 3], 0.5)).toEqual([1, null, NaN, (3 + 0.5) / 1.5]);
});

test.each([
  [1e-6, 1, 5, [1e-6, 1e-4, 1e-2, 1]],
  [0.02, 3, 8, [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2]],
  [1e-3, 1, 5, [1e-3, 1e-2, 1e-1, 1]],
  [0.26, 0.36, 5, [0.26, 0.28, 0.3, 0.32, 0.34, 0.36]],
  [2, 60, 4, [10, 20, 30, 40, 50, 60].filter((tick) => tick % 20 === 0)],
  [0, 1, 5, []],
  [1, 1, 5, []],
])("a logarithmic axis from %d to %d", (low, high, most, expected) => {
  expect(logTicks(low, high, most)).toEqual(expected);
});

test("histograms over the steps: shares of the sample, without bins that are always empty", () => {
  const bins = 32;
  const histogram = new Uint16Array(3 * bins);
  histogram.set([3, 1], 20);
  histogram.set([2, 2, 4], 2 * bins + 18);
  const columns = columnsOf(histogram, bins, -48, 2, [0, 1, 2], [0, 10, 20])!;
  expect(columns).toMatchObject({ steps: [0, 10, 20], low: -48 + 2 * 17, bins: 8, sampled: [4, 0, 8], full: 0.75 });
  expect([...columns.shares.subarray(0, 8)]).toEqual([0, 0, 0, 0.75, 0.25, 0, 0, 0]);
  expect([...columns.shares.subarray(8, 16)]).toEqual(Array(8).fill(0));
  expect([...columns.shares.subarray(16)]).toEqual([0, 0.25, 0.25, 0.5, 0, 0, 0, 0]);
  expect(columnsOf(histogram, bins, -48, 2, [1], [0, 10, 20])).toBeUndefined();
  expect(columnEdges([0, 10, 30])).toEqual([-5, 5, 20, 40]);
  expect(columnEdges([7])).toEqual([6.5, 7.5]);
});

test("a pin is an output of a node; for a module, all its parameters are pinned", () => {
  const hierarchy = hierarchyOf(one());
  expect(pinsOf(hierarchy, "parameter:up.weight")).toEqual(["parameter:up.weight:0"]);
  expect(pinsOf(hierarchy, "#0")).toEqual(["up", "gate", "down"].map((name) => `parameter:${name}.weight:0`));
  expect(pinsOf(hierarchy, "gone")).toEqual([]);
  expect(nodeOfPin("a:b#0/Mm.0:3")).toEqual({ key: "a:b#0/Mm.0", slot: 3 });
});

// A link with the part of this view.
const formatAddress = (hash: string, { charts, ...address }: Address & { readonly charts?: Charted }): string =>
  formatOwn(hash, address, charts && chartedEntries(charts));
const parseAddress = (hash: string): Address & { readonly charts: Charted } => ({
  ...parseOwn(hash),
  charts: readCharted(readValues(hash)),
});

test("charts are in the address", () => {
  const charts = {
    pins: ["a:0", "b & c:1"],
    quantities: ["loss", "note/a&b=c"],
    runs: ["x=1"],
    everyRun: false,
    grouped: true,
    inLayers: true,
    sortBy: "grad_norm/applied",
    colorBy: "=lr",
    of: "update_ratio",
    log: false,
    smoothing: 0.6,
    outliers: true,
    zoom: { x: [10, 20.5], y: [1e-9, 3e-7] },
  } as const;
  expect(parseAddress(formatAddress("", { view: "charts", charts }))).toMatchObject({ view: "charts", charts });
  const every = { ...charts, runs: [], everyRun: true };
  expect(parseAddress(formatAddress("", { charts: { ...every, runs: ["x=1"] } })).charts).toEqual(every);
  const none = {
    pins: [],
    quantities: [],
    runs: [],
    everyRun: false,
    grouped: false,
    inLayers: false,
    sortBy: undefined,
    colorBy: undefined,
    of: undefined,
    log: undefined,
    smoothing: 0,
    outliers: false,
    zoom: {},
  };
  for (const text of ["2 1", "1", "1 2 3", "a b", "1 Infinity"])
    expect(parseAddress(`p.gradgraph.chart.x=${encodeURIComponent(text)}`).charts).toEqual(none);
  expect(formatAddress("", { charts: none })).toBe("");
  expect(parseAddress("p.gradgraph.chart.smooth=7").charts).toEqual(none);
});

const lines = (): readonly string[] =>
  [...(find("charts-lines")?.querySelectorAll<HTMLElement>("[data-line]") ?? [])].map(
    ({ dataset }) => `${dataset.line!.replace("\n", " ")} ${dataset.value}`,
  );
const plotted = (): DOMStringMap => find("charts")!.querySelector<HTMLElement>("[data-testid=chart]")!.dataset;

test("several nodes and runs in one chart, with their numbers at the step", async () => {
  show(one(), two());
  await drawn("parameter:up.weight");
  find("view-charts")!.click();
  await waitFor(() => expect(find("nothing-pinned")).not.toBeNull());
  await stage.find("up.weight", "parameter:up.weight");
  await waitFor(() => expect(lines()).toEqual(["one parameter:up.weight:0 12"]));
  await stage.find("gate", "gate#0"); // a module: its parameters
  await waitFor(() => expect(lines()).toEqual(["one parameter:up.weight:0 12", "one parameter:gate.weight:0 12"]));
  expect(plotted()).toMatchObject({ points: "8", log: "true", step: "3" });
  find("over-run")!.click();
  // Of "two" there is no gate, and no step 3.
  await waitFor(() =>
    expect(lines()).toEqual([
      "one parameter:up.weight:0 12",
      "two parameter:up.weight:0 none",
      "one parameter:gate.weight:0 12",
      "two parameter:gate.weight:0 none",
    ]),
  );
  expect(find("charts-lines")!.textContent).toContain("not here");
  expect(plotted().points).toBe("11"); // what is finite beside the NaN of "two" is zero
  choose("statistic", "zero_fraction");
  await waitFor(() => expect([lines()[0], plotted().log]).toEqual(["one parameter:up.weight:0 0.5", "false"]));
  await waitFor(() => expect(decodeURIComponent(readHash())).toContain("chart.pins=parameter:up.weight:0\nparameter:gate.weight:0"));
});

test("smoothing is off by default, and changes no number that is shown", async () => {
  writeHash("p.gradgraph.view=charts&p.gradgraph.chart.pins=parameter%3Aup.weight%3A0&p.gradgraph.run=one&p.gradgraph.step=3");
  show(one());
  await waitFor(() => expect(lines()).toEqual(["one parameter:up.weight:0 12"]));
  expect((find("smoothing") as HTMLInputElement).value).toBe("0");
  expect(find("charts")!.textContent).toContain("off");
  const smoothing = find("smoothing") as HTMLInputElement;
  smoothing.value = "0.9";
  smoothing.dispatchEvent(new Event("input", { bubbles: true }));
  await waitFor(() => expect(readHash()).toContain("chart.smooth=0.9"));
  expect(lines()).toEqual(["one parameter:up.weight:0 12"]);
});

test("the pointer's step is read from the chart, and a click goes there", async () => {
  writeHash("p.gradgraph.view=charts&p.gradgraph.chart.pins=parameter%3Aup.weight%3A0&p.gradgraph.step=3");
  show(one());
  await waitFor(() => expect(lines()).toEqual(["one parameter:up.weight:0 12"]));
  const chart = (): HTMLElement => find("charts")!.querySelector<HTMLElement>("[data-testid=chart]")!;
  await waitFor(() => {
    pointAtChart(chart(), 0.34);
    expect(lines()).toEqual(["one parameter:up.weight:0 6"]);
  });
  pointAtChart(chart(), 0.34, CLICK);
  await waitFor(() => expect((find("step") as HTMLInputElement).value).toBe("1"));
});

test("while nothing is pinned the selected node is charted; a tensor that is found is added", async () => {
  writeHash("p.gradgraph.view=charts&p.gradgraph.sel=parameter%3Aup.weight");
  show(one());
  await waitFor(() => expect(lines()).toEqual(["one parameter:up.weight:0 12"]));
  expect(find("charts")!.dataset.pins).toBe("parameter:up.weight:0");
  await stage.find("gate.weight", "parameter:gate.weight");
  await waitFor(() => expect(lines()).toEqual(["one parameter:up.weight:0 12", "one parameter:gate.weight:0 12"]));
  find("unpin")!.click();
  await waitFor(() => expect(lines()).toEqual(["one parameter:gate.weight:0 12"]));
  find("unpin")!.click();
  await waitFor(() => expect(find("nothing-pinned")).not.toBeNull());
});

test("a line of zeros is marked on a logarithmic scale; without any number there is a text instead of a chart", async () => {
  writeHash(
    "p.gradgraph.view=charts&p.gradgraph.chart.pins=parameter%3Aup.weight%3A0%0Aparameter%3Amid.weight%3A0&p.gradgraph.stat=nonfinite",
  );
  show(two());
  await waitFor(() => expect(lines()).toHaveLength(2));
  expect(find("all-zero")).toBeNull();
  find("charts-log")!.click();
  await waitFor(() => expect(find("all-zero")?.closest("li")?.dataset.pin).toBe("parameter:mid.weight:0"));
  expect(stage.place.querySelectorAll("[data-testid=all-zero]")).toHaveLength(1);
  choose("statistic", "l2_norm");
  find("view-graph")!.click();
  await drawn("parameter:up.weight");
  item("input:x").click();
  await waitFor(() => expect(find("chart")?.textContent).toBe("No finite number at any step."));
  item("parameter:up.weight").click();
  await waitFor(() => expect(find("chart")?.querySelector("canvas")).toBeInstanceOf(Element));
});

test("a card adds its tensor to the charts and removes it; for a module, all its parameters", async () => {
  show(one());
  await drawn("parameter:up.weight");
  item("parameter:up.weight").click();
  await waitFor(() => expect(find("pin")?.textContent).toBe("Add to charts"));
  find("pin")!.click();
  await waitFor(() => expect(find("show-charts")?.textContent).toBe("Show charts (1)"));
  item("#0").click();
  await waitFor(() => expect(find("pin-all")).not.toBeNull());
  find("pin-all")!.click();
  find("view-charts")!.click();
  await waitFor(() => expect(lines()).toHaveLength(3));
  find("unpin")!.click();
  await waitFor(() => expect(lines().map((line) => line.split(" ")[1])).toEqual(["parameter:gate.weight:0", "parameter:down.weight:0"]));
});

test("for a parameter: gradient, weight, update and their ratio in one chart, and every stage in one", async () => {
  show(training());
  await drawn("parameter:w");
  item("parameter:w").click();
  await waitFor(() => expect(find("chart-of")).not.toBeNull());
  choose("chart-of", "norms");
  const key = (): readonly string[] =>
    [...find("chart-key")!.querySelectorAll<HTMLElement>("[data-line]")].map(({ dataset }) => `${dataset.line} ${dataset.value}`);
  await waitFor(() => expect(key()).toEqual(["gradient_norm 1", "weight_norm 22", "update_norm 0.5", "update_ratio 0.0227273"]));
  choose("chart-of", "every_stage");
  const sum = Number(Math.hypot(100, 8).toPrecision(6));
  await waitFor(() =>
    expect(key()).toEqual([
      `backward ${Number(Math.hypot(50, 4).toPrecision(6))}`,
      `accumulated ${sum}`,
      `unscaled ${sum}`,
      "clipped 1",
      "applied 1",
    ]),
  );
});

test("histograms of a node over the steps", async () => {
  show(one());
  await drawn("parameter:up.weight");
  item("parameter:up.weight").click();
  await waitFor(() => expect(find("histogram-strip")?.dataset).toMatchObject({ steps: "4", bins: "8" }));
  expect(Number(find("histogram-strip")!.dataset.low)).toBeLessThan(0);
});

test("the part of each share at the step and over the steps", async () => {
  expect(partsOf([3, 1])).toEqual([0.75, 0.25]);
  expect(partsOf([null, 2])).toEqual([undefined, 1]);
  expect(partsOf([undefined, undefined])).toBeUndefined();
  show(shared());
  await drawn("parameter:w");
  item("parameter:w").click();
  await waitFor(() => expect(find("shares-key")?.dataset.at).toBe("3"));
  const parts = [...find("shares")!.querySelectorAll<HTMLElement>("[data-part]")];
  expect(parts.map(({ dataset }) => dataset.part)).toEqual(["0.5", "0.5"]);
  expect(parts.map((row) => row.querySelector("th")!.textContent)).toEqual(["from mul 0", "from mul 1"]);
  expect(find("shares-chart")?.dataset.points).toBe("6");
  stage.one("previous")!.click();
  await waitFor(() =>
    expect([...find("shares-key")!.querySelectorAll<HTMLElement>("[data-line]")].map(({ dataset }) => dataset.value)).toEqual([
      "0.6",
      "0.4",
    ]),
  );
});

test("if no share was read there is no table of shares", async () => {
  show(shared(false));
  await drawn("parameter:w");
  item("parameter:w").click();
  await waitFor(() => expect(find("histogram-strip")?.dataset.steps).toBe("3"));
  expect([find("shares"), find("shares-history")]).toEqual([null, null]);
});

test("a group of a module that is called again has a profile, one of a single call has none", async () => {
  show(loop(), one());
  await drawn("cell#0/TanhBackward0.0").catch(() => undefined);
  await waitFor(() => expect(find("tree")).not.toBeNull());
  item("cell#2").click();
  await waitFor(() => expect(find("profile")?.querySelector("h3")?.textContent).toBe("L2 norm along the 6 calls of cell"));
  expect(find("profile-ends")?.dataset).toMatchObject({ ratio: "0.03125", values: "0.03125,0.0625,0.125,0.25,0.5,1" });
  choose("run", "one");
  await waitFor(() => expect(() => item("up#0")).not.toThrow());
  item("up#0").click();
  await waitFor(() => expect(find("card")?.dataset.key).toBe("up#0"));
  expect(find("profile")).toBeNull();
});
