// Forward shows values, backward gradients: in every view, on the card, in a comparison, in links.

import { expect, test } from "vitest";
import { bothHalves } from "../../fixtures/halves.mjs";
import { loop } from "../../fixtures/compared.mjs";
import { chain, training } from "../../fixtures/examples.mjs";
import { MEASURES } from "../../src/base/vocabulary";
import { depthOfGroup, depthOfNode, ratiosOf } from "../../src/model/charts/depth";
import { statisticsFor } from "../../src/model/recorded/statistics";
import { readHash, writeHash } from "../../src/panel/session/host";
import { hierarchyOf, recordAt } from "../fixture";
import { press, useStage, waitFor } from "../stage";

const stage = useStage();
const { show, one, item, drawn, choose } = stage;

const FIRST = "blocks.0#0/MulBackward0.0";
const SECOND = "blocks.1#0/MulBackward0.0";
const WEIGHT = "parameter:blocks.0.weight";
const norm = (...elements: readonly number[]): string => String(Number(Math.hypot(...elements).toPrecision(6)));
const edgeLabels = (): readonly (string | undefined)[] =>
  [...stage.place.querySelectorAll<HTMLElement>("[data-testid=edges] li")].map(({ dataset }) => dataset.label);
const is = (key: string, value: string): Promise<void> => waitFor(() => expect(item(key).dataset.value).toBe(value));
const at = (step: number): void => writeHash(`p.gradgraph.step=${step}`);

test("the switch colors and labels with values, and back with gradients", async () => {
  at(2);
  show(bothHalves());
  await is(FIRST, norm(2, 2));
  one("direction-forward")!.click();
  await is(FIRST, norm(3, 3));
  await is(SECOND, norm(9, 9));
  expect(item(WEIGHT).dataset.value).toBe(norm(3, 3));
  expect(item("root:loss").dataset.wholeValue).toBe("18");
  expect(item("root:loss").dataset.detail).toBe("value 18");
  expect(item(WEIGHT).dataset.detail).toBe("weight 3 each");
  await waitFor(() => expect(edgeLabels()).toContain("12.73")); // sqrt(2) * 9
  const { textContent } = one("legend")!;
  expect(textContent).toContain("Value, L2 norm");
  expect(textContent).toContain("not read");
  expect(one("stage")).toBeNull(); // stages are those of gradients
  await waitFor(() => expect(readHash()).toContain("p.gradgraph.dir=forward"));
  press("d");
  await is(FIRST, norm(2, 2));
  expect(one("legend")!.textContent).toContain("Gradient, L2 norm");
  expect(one("stage")).not.toBeNull();
});

test("the scale of values is that of values, and each step has its own", async () => {
  writeHash("p.gradgraph.step=0&p.gradgraph.dir=forward");
  show(bothHalves());
  await is(SECOND, norm(1, 1));
  await waitFor(() => expect(Number(one("legend")!.dataset.high)).toBeGreaterThan(30)); // the loss of 32 at step 3
  press("End");
  await is(SECOND, norm(16, 16));
});

test("a tensor whose value was not read says so, and why", async () => {
  writeHash("p.gradgraph.step=1&p.gradgraph.dir=forward&p.gradgraph.sel=%230%2FSumBackward0.0");
  show(bothHalves());
  await waitFor(() => expect(item("#0/SumBackward0.0").dataset.state).toBe("none"));
  await waitFor(() => expect(one("why-value")!.textContent).toContain('with level="op" what each call returns'));
  const edge = [...stage.place.querySelectorAll<HTMLElement>("[data-testid=edges] li")].find(
    ({ dataset }) => dataset.source === "#0/SumBackward0.0",
  )!;
  expect(edge.textContent).toContain("was not read");
});

test("the card has the numbers of both halves side by side, and their histograms over the steps", async () => {
  writeHash(`p.gradgraph.step=2&p.gradgraph.sel=${encodeURIComponent(WEIGHT)}`);
  show(bothHalves());
  const row = (name: string): DOMStringMap => one("statistics")!.querySelector<HTMLElement>(`[data-statistic=${name}]`)!.dataset;
  await waitFor(() => expect(row("l2_norm")).toMatchObject({ value: norm(2, 2), forward: norm(3, 3) }));
  expect(row("max")).toMatchObject({ value: "2", forward: "3" });
  expect(one("statistics")!.querySelector("h3")!.textContent).toBe("Weight and gradient at this step");
  expect(one("whole-value")!.dataset.whole).toBe("3,3");
  expect(one("whole-gradient")!.dataset.whole).toBe("2,2");
  await waitFor(() => expect(one("value-histogram-strip")!.dataset.steps).toBe("4"));
  expect(one("histogram-strip")!.dataset.steps).toBe("4");
  choose("chart-of", "both");
  await waitFor(() => expect(one("chart")!.dataset.lines).toBe("forward\napplied"));
  // Either way around.
  one("direction-forward")!.click();
  await waitFor(() => expect(row("l2_norm")).toMatchObject({ value: norm(2, 2), forward: norm(3, 3) }));
});

test("the ratio along the depth is that of the same tensor in each block, or of what each block puts out", () => {
  const run = bothHalves();
  const hierarchy = hierarchyOf(run);
  const { key } = hierarchy.graph.columns.nodes;
  const [gradient, value] = [recordAt(run, 2), recordAt(run, 2, "forward")];
  const weights = depthOfNode(hierarchy, key.indexOf(WEIGHT), 0)!;
  expect(weights.name).toBe("blocks.*.weight");
  expect(weights.members.map(({ index, id }) => [index, id])).toEqual([
    [0, WEIGHT],
    [1, "parameter:blocks.1.weight"],
  ]);
  const rounded = (ratios: readonly (number | null)[]): readonly unknown[] => ratios.map((one) => one && Number(one.toPrecision(5)));
  expect(rounded(ratiosOf(weights, gradient, value))).toEqual([0.66667, 1.3333]);
  const outputs = depthOfGroup(hierarchy, hierarchy.groupOf.get("blocks.1#0")!)!;
  expect(outputs).toMatchObject({ name: "blocks.*", outputs: true });
  expect(rounded(ratiosOf(outputs, gradient, value))).toEqual([0.66667, 0.11111]);
  const net = depthOfGroup(hierarchy, hierarchy.groupOf.get("#0")!)!;
  expect(net.members.map(({ name }) => name)).toEqual(["blocks.0", "blocks.1"]);
  expect(depthOfNode(hierarchy, key.indexOf("input:x"), 0)).toBeUndefined();
});

test("the ratio is along the calls of a module, and not along equal operations in one", () => {
  const hierarchy = hierarchyOf(loop(4));
  const { key } = hierarchy.graph.columns.nodes;
  const found = depthOfNode(hierarchy, key.indexOf("cell#1/TanhBackward0.0"), 0);
  expect(found?.members.map(({ id }) => id)).toEqual([0, 1, 2, 3].map((call) => `cell#${call}/TanhBackward0.0`));
  expect(depthOfNode(hierarchyOf(chain(3)), 1, 0)).toBeUndefined();
});

test("statistics that only values have are offered for values, and those that a record adds for both", () => {
  const ids = (half: "value" | "gradient"): readonly string[] => statisticsFor(half, ["l2_norm", "stable_rank"]).map(({ id }) => id);
  expect(ids("value")).toContain("stable_rank");
  expect(ids("gradient")).toContain("stable_rank");
  const only = MEASURES.filter(({ ofValues }) => ofValues).map(({ name }) => name);
  expect(only.filter((name) => ids("gradient").includes(name))).toEqual([]);
  expect(ids("value")).toEqual(expect.arrayContaining(only));
});

test("where nothing was read there is no ratio", () => {
  const run = bothHalves();
  const hierarchy = hierarchyOf(run);
  const depth = { name: "", outputs: false, members: [{ index: 0, name: "x", id: "input:x", rows: [0] }] };
  expect(ratiosOf(depth, recordAt(run, 2), recordAt(run, 2, "forward"))).toEqual([null]);
  expect(hierarchy.graph.rows).toBeGreaterThan(0);
});

test("where no values were recorded, forward shows gradients, and says how to record values", async () => {
  writeHash("p.gradgraph.dir=forward");
  show(training());
  await waitFor(() => expect(one("no-values")!.textContent).toContain("watch(…, values=True)"));
  await waitFor(() => expect(item("parameter:w").dataset.value).toBe(norm(50, 4)));
  expect(one("legend")!.textContent).toContain("Gradient, L2 norm");
  expect(one("stage")).not.toBeNull();
  one("view-flow")!.click();
  await waitFor(() => expect(one("flow-legend")!.textContent).toContain("values=True"));
  one("direction-backward")!.click();
  await waitFor(() => expect(one("no-values")).toBeNull());
});

test("a step without values among others is told apart", async () => {
  writeHash("p.gradgraph.dir=forward&p.gradgraph.step=1");
  show(bothHalves("some", { withValues: [0, 2] }));
  await is(FIRST, norm(2, 2));
  expect(one("no-values")!.textContent).toContain("at this step");
  press("ArrowRight");
  await is(FIRST, norm(3, 3));
  expect(one("no-values")).toBeNull();
});

test("a value-only choice falls back for gradients, and an unknown statistic is ignored", async () => {
  writeHash("p.gradgraph.stat=no_such_statistic");
  show(bothHalves());
  await drawn(FIRST);
  expect((one("statistic") as HTMLSelectElement).value).toBe("l2_norm");
});

test("the heat map shows the values of every step", async () => {
  writeHash("p.gradgraph.view=flow&p.gradgraph.dir=forward&p.gradgraph.step=2");
  show(bothHalves());
  const value = (key: string): string | undefined =>
    [...(one("flow-rows")?.querySelectorAll<HTMLElement>("[role=row]") ?? [])].find(({ dataset }) => dataset.key === key)?.dataset.value;
  await waitFor(() => expect(value(SECOND)).toBe("12.73"));
  expect(one("flow-legend")!.textContent).toContain("Value, L2 norm");
  expect(one("flow-told")!.textContent).toContain("1 operation without a value");
  one("direction-backward")!.click();
  await waitFor(() => expect(value(SECOND)).toBe("1.414"));
});

test("a NaN of the forward is marked at its step, forward only", async () => {
  writeHash("p.gradgraph.dir=forward&p.gradgraph.step=1");
  show(bothHalves("nan", { bad: 1 }));
  await waitFor(() => expect(item(SECOND).dataset.state).toBe("nonfinite"));
  await waitFor(() => expect(one("bad-steps")!.dataset.steps).toBe("1"));
  one("direction-backward")!.click();
  await waitFor(() => expect(one("bad-steps")).toBeNull());
});

test("charts draw the values of what is pinned", async () => {
  writeHash(`p.gradgraph.view=charts&p.gradgraph.step=2&p.gradgraph.chart.pins=${encodeURIComponent(`${WEIGHT}:0`)}`);
  show(bothHalves());
  const number = (): string | undefined => one("charts-lines")?.querySelector<HTMLElement>("[data-line]")?.dataset.value;
  await waitFor(() => expect(number()).toBe(norm(2, 2)));
  one("direction-forward")!.click();
  await waitFor(() => expect(number()).toBe(norm(3, 3)));
  expect((one("charts-of") as HTMLSelectElement).value).toBe("forward");
});

test("values are compared with values, of another step and of another run", async () => {
  writeHash("p.gradgraph.dir=forward&p.gradgraph.step=1&p.gradgraph.vs.step=3");
  show(bothHalves(), bothHalves("twice", { factor: 2 }), bothHalves("none", { withValues: [] }));
  await waitFor(() => expect(item(SECOND).dataset.ratio).toBe("0.25")); // 4 / 16
  expect(one("legend")!.textContent).toContain("Value, L2 norm: here ÷ there");
  one("direction-backward")!.click();
  await waitFor(() => expect(item(SECOND).dataset.ratio).toBe("1"));
  one("direction-forward")!.click();
  choose("vs-run", "twice");
  await waitFor(() => expect(item(SECOND).dataset.ratio).toBe("0.25")); // at the same step, half of the weights
  await waitFor(() => expect(item(WEIGHT).dataset.ratio).toBe("0.5"));
  choose("vs-run", "none");
  await waitFor(() => expect(one("no-values-there")).not.toBeNull());
  expect(item(SECOND).dataset.ratio).toBeUndefined();
  expect(item(SECOND).dataset.value).toBe(norm(4, 4));
});

test("a line's card has what flows both ways", async () => {
  writeHash("p.gradgraph.step=2");
  show(bothHalves());
  await drawn(FIRST);
  await waitFor(() => {
    const { x, y } = stage.middleOf(FIRST);
    const height = Number(item(FIRST).dataset.rect!.split(",")[3]);
    stage.click({ x, y: y + (height / 2 + 8) * stage.camera().k }); // just below its box
    expect(one("card")!.dataset.key).toBe("edge");
  });
  const row = (): DOMStringMap => one("statistics")!.querySelector<HTMLElement>("[data-statistic=l2_norm]")!.dataset;
  await waitFor(() => expect(row()).toMatchObject({ value: norm(2, 2), forward: norm(3, 3) }));
});
