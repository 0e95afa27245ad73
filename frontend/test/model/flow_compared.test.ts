// Two heat maps as one: ratios by node and step, what only one has, colors that keep what differs most, and the view of it.

import { expect, test } from "vitest";
import { one, two } from "../../fixtures/compared.mjs";
import { training, twoStructures } from "../../fixtures/examples.mjs";
import { ratioColor, ratioStops } from "../../src/draw/compare/ratio_scale";
import { comparedCodesOf, ratioPaletteOf } from "../../src/draw/flow/flow_codes";
import { rgbOf } from "../../src/draw/style/element_colors";
import { LIGHT } from "../../src/draw/style/theme";
import { Relation } from "../../src/model/compare/comparison";
import { joinGraphs } from "../../src/model/compare/joined";
import { compareFlows, relatedAt, type ComparedFlow } from "../../src/model/flow/flow_compared";
import { emptyValues } from "../../src/model/visible/values";
import { entityCount } from "../../src/model/flow/flow_rows";
import { readHash, writeHash } from "../../src/panel/session/host";
import { flowOf, type FixtureRun } from "../fixture";
import { press, useStage, waitFor } from "../stage";

const stage = useStage();

function compared(here: FixtureRun, there: FixtureRun, against?: number): ComparedFlow {
  const [own, other] = [flowOf(here), flowOf(there)];
  return compareFlows(own, [{ flow: other, joined: joinGraphs(own.hierarchy, other.hierarchy), against }]);
}

function cells(flow: ComparedFlow, id: string): readonly (readonly [number, number])[] {
  const { graph, groupOf } = flow.hierarchy;
  const group = groupOf.get(id);
  const entity = group === undefined ? graph.columns.nodes.key.indexOf(id) : graph.nodeCount + group;
  return flow.steps.map((_, column) => {
    const { relation, log2 } = relatedAt(flow, entity, column)!;
    return [relation, Number(log2.toFixed(4))];
  });
}

const { both, onlyHere, onlyThere, nonfinite, none } = Relation;

test("cells are matched by node and step; a missing cell differs from one without gradient", () => {
  const flow = compared(one(), two());
  expect(flow.steps).toEqual([0, 1, 2, 3, 4]);
  // Here 3, 6, 9 and 12, there 24, NaN and 120 at the steps 0, 2 and 4.
  expect(cells(flow, "parameter:up.weight")).toEqual([
    [both, -3],
    [onlyHere, NaN],
    [nonfinite, NaN],
    [onlyHere, NaN],
    [onlyThere, NaN],
  ]);
  expect(cells(flow, "parameter:down.weight")).toEqual([
    [both, 2],
    [onlyHere, NaN],
    [both, Infinity],
    [onlyHere, NaN],
    [onlyThere, NaN],
  ]);
  expect(cells(flow, "gate#0").map(([relation]) => relation)).toEqual([onlyHere, onlyHere, onlyHere, onlyHere, none]);
  // The greatest in the model: 6 here (down), 24 there (up).
  expect(cells(flow, "#0")[0]).toEqual([both, -2]);
});

test("compared with one step, each column is; the step itself is equal", () => {
  const flow = compared(one(), one(), 1);
  expect(flow.steps).toEqual([0, 1, 2, 3]);
  expect(cells(flow, "parameter:up.weight")).toEqual([0.5, 1, 1.5, 2].map((ratio) => [both, Number(Math.log2(ratio).toFixed(4))]));
});

test("every cell of a run compared with itself is equal or has no ratio, in whichever structure", () => {
  for (const run of [training(), twoStructures()]) {
    const own = flowOf(run);
    const flow = compareFlows(own, [{ flow: own, joined: joinGraphs(own.hierarchy, own.hierarchy), against: undefined }]);
    expect(flow.relation).toHaveLength(entityCount(own.hierarchy) * own.steps.length);
    flow.relation.forEach((relation, at) => expect(relation === both ? flow.log2[at] : 0).toBe(0));
    expect(flow.relation).not.toContain(onlyHere);
    expect(flow.value).toEqual(own.value);
  }
});

test("of cells that share a pixel the one that differs most is shown, in the colors of the graph", () => {
  const flow = {
    relation: Uint8Array.of(both, both, both, onlyHere, onlyThere, nonfinite, none, both, both),
    there: emptyValues(9),
    log2: Float32Array.of(0, -1, 4, NaN, NaN, NaN, NaN, -Infinity, Infinity),
  } as unknown as ComparedFlow;
  const codes = [...comparedCodesOf(flow, 4)];
  const [equal, half, much, here, there, bad, nothing, dead, deadThere] = codes as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  expect([...codes].sort((a, b) => a - b)).toEqual([nothing, here, there, equal, half, much, deadThere, dead, bad]);
  const { colors, lean } = ratioPaletteOf(LIGHT, "gradient");
  const hex = (code: number): readonly number[] => [0, 8, 16].map((shift) => (colors[code]! >> shift) & 255);
  expect(hex(much)).toEqual(rgbOf(ratioStops(LIGHT)[8]!));
  expect(hex(equal)).toEqual(rgbOf(ratioStops(LIGHT)[4]!));
  hex(half).forEach((part, i) => expect(Math.abs(part - rgbOf(ratioColor(-1, 4, LIGHT))[i]!)).toBeLessThanOrEqual(1));
  expect([lean[here], lean[there], lean[equal], lean[much], lean[dead], lean[deadThere]]).toEqual([1, -1, 0, 0, 1, -1]);
  expect([hex(dead), hex(deadThere)]).toEqual([ratioStops(LIGHT)[0]!, ratioStops(LIGHT)[8]!].map(rgbOf));
});

const row = (key: string): HTMLElement => stage.place.querySelector<HTMLElement>(`[role=row][data-key="${key}"]`)!;
const valueOf = (key: string): string | undefined => row(key)?.dataset.value;

test("the heat map of two runs shows ratios, and says where only one of them was recorded", async () => {
  writeHash("p.gradgraph.view=flow&p.gradgraph.run=one&p.gradgraph.step=0&p.gradgraph.vs.run=two&p.gradgraph.vs.step=same");
  stage.show(one(), two());
  await waitFor(() => expect(valueOf("parameter:up.weight")).toBe("×0.125"));
  expect(valueOf("parameter:down.weight")).toBe("×4");
  expect(valueOf("parameter:gate.weight")).toBe("only here");
  await waitFor(() => expect(stage.one("flow-canvas")!.dataset.columns).toMatch(/,5$/));
  expect(stage.one("flow-legend")!.textContent).toContain("here ÷ there");
  expect(stage.one("flow-told")!.textContent).toBe("here one / net, there two / net, step by step");
  press("ArrowRight");
  await waitFor(() => expect(valueOf("parameter:up.weight")).toBe("only here"));
  row("parameter:up.weight").click();
  await waitFor(() => expect(stage.one("flow-said")!.textContent).toContain("step 1: only here: L2 norm 6 here"));
  stage.choose("vs-reach", "1");
  await waitFor(() => expect(stage.one("flow-legend")!.dataset.high).toBe("2"));
});

test("C compares all steps with one of them, and ends that", async () => {
  writeHash("p.gradgraph.view=flow&p.gradgraph.run=one&p.gradgraph.step=3");
  stage.show(one());
  await waitFor(() => expect(valueOf("parameter:up.weight")).toBe("12"));
  press("c");
  await waitFor(() => expect(valueOf("parameter:up.weight")).toBe("×4"));
  expect(stage.one("flow-told")!.textContent).toContain("always step 0");
  row("parameter:up.weight").click();
  await waitFor(() => expect(stage.one("flow-said")!.textContent).toContain("×4: L2 norm 12 here, 3 there at step 0"));
  expect(stage.asked.filter((url) => url.includes("/flow?"))).toHaveLength(1);
  await waitFor(() => expect(readHash()).toContain("vs.step=0"));
  press("c");
  await waitFor(() => expect(valueOf("parameter:up.weight")).toBe("12"));
});
