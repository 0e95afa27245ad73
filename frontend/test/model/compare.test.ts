// Two records on one graph: how their nodes are joined, what is said of each, and how the panel shows it.

import { expect, test } from "vitest";
import { loop, one, two } from "../../fixtures/compared.mjs";
import { chainRule } from "../../fixtures/examples.mjs";
import { bothHalves } from "../../fixtures/halves.mjs";
import { paintCompared } from "../../src/draw/compare/compared_scene";
import { factorText, ratioColor, ratioStops, ratioText } from "../../src/draw/compare/ratio_scale";
import { headRoom } from "../../src/draw/scene/caption";
import { luminance } from "../../src/draw/style/color_scale";
import { DETAIL_FONT, widthOf } from "../../src/draw/style/text";
import { DARK, LIGHT } from "../../src/draw/style/theme";
import {
  compare,
  relate,
  relateCells,
  relateGroup,
  relateLine,
  relateNode,
  Relation,
  type Related,
} from "../../src/model/compare/comparison";
import { joinGraphs } from "../../src/model/compare/joined";
import { reachFor } from "../../src/model/compare/ratio_reach";
import { DEFAULT_STATISTIC, statisticOf } from "../../src/model/recorded/statistics";
import type { VisibleEdge } from "../../src/model/visible/collapse";
import { stripOf } from "../../src/model/visible/strip";
import { computeValues, State } from "../../src/model/visible/values";
import { readHash, writeHash } from "../../src/panel/session/host";
import { formatAddress, parseAddress } from "../../src/state/address";
import { hierarchyOf, recordAt, type FixtureRun } from "../fixture";
import { press, useStage, waitFor } from "../stage";

const stage = useStage();
const { show, choose, drawn, item } = stage;
const find = (id: string): HTMLElement | null => stage.one(id);

function compared(here: FixtureRun, hereStep: number, there: FixtureRun, thereStep: number, statistic = DEFAULT_STATISTIC) {
  const [shown, other] = [hierarchyOf(here), hierarchyOf(there)];
  const record = recordAt(there, thereStep);
  const values = computeValues(shown, recordAt(here, hereStep), statistic);
  return {
    shown,
    other,
    comparison: compare(
      shown,
      values,
      [{ hierarchy: other, record, values: computeValues(other, record, statistic), joined: joinGraphs(shown, other) }],
      statistic,
    ),
  };
}

const nodeOf = (run: FixtureRun, key: string): number => run.graph.nodes.key.indexOf(key);

test("nodes, rows, edges and groups are matched by key", () => {
  const {
    shown,
    other,
    comparison: {
      first: { joined },
    },
  } = compared(one(), 0, two(), 0);
  one().graph.nodes.key.forEach((key, node) => expect(joined.nodes[node]).toBe(two().graph.nodes.key.indexOf(key)));
  expect(joined.onlyHere).toBe(2);
  expect(joined.onlyThere.map((node) => two().graph.nodes.key[node])).toEqual(["parameter:mid.weight", "mid#0/MmBackward0.0"]);
  expect(joined.groups[shown.groupOf.get("down#0")!]).toBe(other.groupOf.get("down#0"));
  expect(joined.groups[shown.groupOf.get("gate#0")!]).toBe(-1);
  // Of the model itself, two nodes are only there; its own layers miss nothing.
  expect(joined.missing[shown.groupOf.get("#0")!]).toBe(2);
  expect(joined.missing[shown.groupOf.get("up#0")!]).toBe(0);
  one().graph.edges.source.forEach((source, edge) => {
    const [from, to] = [source, one().graph.edges.target[edge]!].map((node) => one().graph.nodes.key[node]);
    const same = two().graph.edges.source.findIndex(
      (it, e) => two().graph.nodes.key[it] === from && two().graph.nodes.key[two().graph.edges.target[e]!] === to,
    );
    expect(joined.edges[edge]).toBe(same);
  });
});

test("the ratio of a node uses its own numbers in both; that of a module uses all its contents in each", () => {
  const { shown, comparison } = compared(one(), 3, two(), 4);
  // Here 4 times the base, there 5 times: weights of "up" 12 and 120, of "down" 24 and 7.5.
  const up = relateNode(comparison, nodeOf(one(), "parameter:up.weight"));
  expect([up.relation, up.here, up.there]).toEqual([Relation.both, 12, 120]);
  expect(up.log2).toBeCloseTo(Math.log2(12 / 120), 6);
  expect(2 ** relateNode(comparison, nodeOf(one(), "down#0/MmBackward0.0")).log2).toBeCloseTo(8 / 2.5, 6);
  expect(relateNode(comparison, nodeOf(one(), "parameter:gate.weight")).relation).toBe(Relation.onlyHere);
  expect(relateNode(comparison, nodeOf(one(), "input:x")).relation).toBe(Relation.none);
  // The greatest of the model there is in "mid" or "up" (120), here in "down" (24).
  expect(relateGroup(comparison, shown.groupOf.get("#0")!)).toMatchObject({ here: 24, there: 120 });
  expect(relateGroup(comparison, shown.groupOf.get("down#0")!)).toMatchObject({ here: 24, there: 7.5 });
  expect(relateGroup(comparison, shown.groupOf.get("gate#0")!).relation).toBe(Relation.onlyHere);
});

test("edges compare the gradients along them; edges of only one graph are not compared", () => {
  const { shown, comparison } = compared(one(), 3, two(), 4);
  const edgeOf = (from: string, to: string): number =>
    one().graph.edges.source.findIndex((source, e) => source === nodeOf(one(), from) && one().graph.edges.target[e] === nodeOf(one(), to));
  const line = (from: string, to: string): VisibleEdge => ({
    source: 0,
    target: 1,
    edges: [edgeOf(from, to)],
    ends: [edgeOf(from, to)],
    chains: [],
  });
  expect(relateLine(comparison, shown.graph, line("parameter:up.weight", "up#0/MmBackward0.0"))).toMatchObject({ here: 12, there: 120 });
  expect(relateLine(comparison, shown.graph, line("up#0/MmBackward0.0", "gate#0/MmBackward0.0")).relation).toBe(Relation.onlyHere);
});

test("the cells of a run of equal blocks are compared block by block", () => {
  const { shown, comparison } = compared(loop(5), 0, loop(5, 2), 0);
  const strip = shown.groups.map((_, group) => stripOf(shown, group)).find((one) => one !== undefined)!;
  expect(strip.count).toBe(5);
  // 0.5 ** (4 - call) here, 2 ** (4 - call) there.
  expect(relateCells(shown, comparison, strip, 5).map(({ log2 }) => log2)).toEqual([-8, -6, -4, -2, 0]);
});

const of = (value: number, state: State): { value: number; state: State } => ({ value, state });
test.each([
  [of(2, State.number), of(8, State.number), Relation.both, -2, "×0.25"],
  [of(1, State.number), of(-16, State.number), Relation.both, -4, "÷−16"],
  [of(-2, State.number), of(8, State.number), Relation.both, -2, "×−0.25"],
  [of(-8, State.number), of(-2, State.number), Relation.both, 2, "×4"],
  [of(0, State.zero), of(0, State.zero), Relation.both, 0, "both 0"],
  [of(0, State.zero), of(3, State.number), Relation.both, -Infinity, "×0"],
  [of(3, State.number), of(0, State.zero), Relation.both, Infinity, "×∞"],
  [of(1e-30, State.number), of(1e-30, State.number), Relation.both, 0, "×1"],
  [of(1, State.number), undefined, Relation.onlyHere, NaN, "only here"],
  [of(1, State.number), of(NaN, State.none), Relation.numberHere, NaN, "none there"],
  [of(NaN, State.none), of(1, State.number), Relation.numberThere, NaN, "none here"],
  [of(NaN, State.none), of(NaN, State.none), Relation.none, NaN, undefined],
  [of(NaN, State.none), undefined, Relation.onlyHere, NaN, "only here"],
  [of(1, State.nonfinite), of(1, State.number), Relation.nonfinite, NaN, "NaN/inf"],
  [of(1, State.number), of(NaN, State.nonfinite), Relation.nonfinite, NaN, "NaN/inf"],
  [of(NaN, State.unknown), of(1, State.number), Relation.unknown, NaN, "–"],
])("%j beside %j", (here, there, relation, log2, text) => {
  const related = relate(here, there);
  expect(related.relation).toBe(relation);
  expect(related.log2).toEqual(log2);
  expect(ratioText(related)).toBe(text);
});

test("both ends of the scale are equally light at equal distance, and stop at its reach", () => {
  for (const theme of [LIGHT, DARK]) {
    expect(ratioColor(0, 4, theme)).toBe(ratioStops(theme)[4]);
    expect([ratioColor(-9, 4, theme), ratioColor(Infinity, 4, theme)]).toEqual([ratioStops(theme)[0], ratioStops(theme)[8]]);
    for (const log2 of [0.5, 1, 2, 3.3, 4]) {
      const [below, above, equal] = [-log2, log2, 0].map((at) => luminance(ratioColor(at, 4, theme)));
      expect(Math.abs(below! - above!)).toBeLessThan(0.12 * Math.abs(above! - equal!) + 0.012);
    }
  }
});

test("boxes show the ratio if it fits; NaN, zero and nodes of only one graph look different", () => {
  const { shown, comparison } = compared(one(), 2, two(), 2);
  const boxOf = (node: number) =>
    ({ id: "", kind: "node", item: node, node, group: -1, module: -1, open: false, parent: -1, depth: 0 }) as const;
  const keys = ["parameter:up.weight", "parameter:down.weight", "parameter:gate.weight", "down#0/MmBackward0.0"];
  const boxes = keys.map((key) => boxOf(nodeOf(one(), key)));
  const rect = { x: 0, y: 0, width: 200, height: 40 };
  const scene = {
    boxes: keys.map((id) => ({
      id,
      rectWorld: rect,
      shape: "operation" as const,
      depth: 0,
      title: id,
      subtitle: "",
      order: 1,
      copied: false,
      retains: false,
      holder: -1,
      rows: 0,
      chained: false,
      strip: undefined,
    })),
    edges: [],
    boundsWorld: rect,
    indexOf: new Map(),
  };
  const scale = { domain: [1, 10] as const, below: false, above: false, position: () => 0.5, fill: () => "" };
  const paints = paintCompared(
    shown,
    { boxes, edges: [], holder: new Int32Array(4).fill(-1), boxOfNode: new Int32Array(), shownBy: new Int32Array() },
    scene,
    comparison,
    undefined,
    scale,
    4,
    LIGHT,
  );
  expect(paints.boxes.map(({ detail }) => detail)).toEqual(["NaN/inf", "×∞ · 18", "only here", "×4 · 6"]);
  expect(paints.boxes.map(({ zero }) => zero)).toEqual([false, true, false, false]);
  expect(paints.boxes.map(({ only }) => only)).toEqual([false, false, true, false]);
  expect(paints.boxes.map(({ fill }) => fill)).toEqual([LIGHT.nonfinite, ratioStops(LIGHT)[8], LIGHT.surface, ratioStops(LIGHT)[6]]);
});

test("an open module keeps its name, and shows more only if it fits", () => {
  const { shown, comparison } = compared(one(), 2, two(), 2);
  const group = shown.groupOf.get("#0")!;
  const box = { id: "#0", kind: "group", item: -1, node: -1, group, module: -1, open: true, parent: -1, depth: 0 } as const;
  const detailAt = (width: number): string => {
    const rectWorld = { x: 0, y: 0, width, height: 90 };
    const scene = {
      boxes: [
        {
          id: "#0",
          rectWorld,
          shape: "frame" as const,
          depth: 0,
          title: "TheNameOfTheNet",
          subtitle: "Net",
          order: 1,
          copied: false,
          retains: false,
          holder: -1,
          rows: 0,
          chained: false,
          strip: undefined,
        },
      ],
      edges: [],
      boundsWorld: rectWorld,
      indexOf: new Map(),
    };
    const scale = { domain: [1, 10] as const, below: false, above: false, position: () => 0.5, fill: () => "" };
    return paintCompared(
      shown,
      { boxes: [box], edges: [], holder: new Int32Array(4).fill(-1), boxOfNode: new Int32Array(), shownBy: new Int32Array() },
      scene,
      comparison,
      undefined,
      scale,
      4,
      LIGHT,
    ).boxes[0]!.detail;
  };
  const [wide, narrow] = [detailAt(500), detailAt(190)];
  expect(wide).toBe("NaN/inf · 2 only there");
  expect(wide.startsWith(narrow)).toBe(true);
  expect(headRoom({ title: "TheNameOfTheNet", subtitle: "Net" }, 190)).toBeLessThan(widthOf(wide, DETAIL_FONT));
  expect(widthOf(narrow, DETAIL_FONT)).toBeLessThanOrEqual(Math.max(0, headRoom({ title: "TheNameOfTheNet", subtitle: "Net" }, 190)));
});

test("the comparison is in the address, and keys of others stay", () => {
  const vs = { run: "a & b", tag: "net\nx", step: 7, reach: 8 };
  const text = formatAddress("#gradgraph&other=1", { vs });
  expect(text).toContain("other=1");
  expect(parseAddress(text).vs).toEqual(vs);
  const same = { run: undefined, tag: undefined, step: undefined, reach: undefined };
  expect(parseAddress(formatAddress("", { vs: same })).vs).toEqual(same);
  expect(parseAddress("p.gradgraph.vs.run=x").vs).toBeUndefined();
});

const ratioAt = (key: string): string | undefined => item(key).dataset.ratio;

test("two runs at the same step: ratios on the boxes, differences listed, a swap shows the other side", async () => {
  show(one(), two());
  await drawn("parameter:up.weight");
  expect(item("parameter:up.weight").dataset.ratio).toBeUndefined();
  find("compare")!.click();
  await waitFor(() => expect(find("compare-bar")?.dataset.ready).toBe("true"));
  // It begins with the first step of the same run.
  expect(find("compare-bar")?.dataset.there).toBe("one\nnet\n0\nbackward");
  await waitFor(() => expect(ratioAt("parameter:up.weight")).toBe("4"));
  choose("vs-run", "two");
  await waitFor(() => expect((find("vs-step-kind") as HTMLSelectElement).value).toBe("same")); // of another run
  await waitFor(() => expect(find("compare-bar")?.dataset.there).toBe("two\nnet\n2\nbackward")); // 3 is not there: the nearest
  await waitFor(() => expect(ratioAt("up#0/MmBackward0.0")).toBe(String(Number((4 / 24).toPrecision(6)))));
  expect(item("parameter:up.weight").dataset.state).toBe("nonfinite");
  expect(item("parameter:gate.weight").dataset).toMatchObject({ only: "true", detail: "only here", ratio: "none" });
  expect(find("differences")?.textContent).toBe("2 only here, 2 only there");
  find("differences")!.click();
  await waitFor(() =>
    expect([...find("only-there")!.querySelectorAll("button")].map(({ dataset }) => dataset.key)).toEqual([
      "parameter:mid.weight",
      "mid#0/MmBackward0.0",
    ]),
  );
  press("Escape");
  choose("vs-run", "one");
  await waitFor(() => expect(find("compare-bar")?.dataset.there).toBe("one\nnet\n0\nbackward"));
  await waitFor(() => expect((find("vs-step-kind") as HTMLSelectElement).value).toBe("fixed"));
  choose("vs-run", "two");
  await waitFor(() => expect(find("compare-bar")?.dataset.there).toBe("two\nnet\n2\nbackward"));
  find("vs-swap")!.click();
  await waitFor(() => expect(item("parameter:mid.weight").dataset.only).toBe("true"));
  expect((find("run") as HTMLSelectElement).value).toBe("two");
  await waitFor(() => expect(ratioAt("up#0/MmBackward0.0")).toBe("6"));
});

test("cards show both numbers and their ratio; closing shows the gradients again", async () => {
  writeHash("p.gradgraph.run=one&p.gradgraph.step=3&p.gradgraph.vs.run=two&p.gradgraph.vs.step=4");
  show(one(), two());
  await waitFor(() => expect(ratioAt("parameter:up.weight")).toBe("0.1"));
  item("parameter:up.weight").click();
  const line = (): DOMStringMap | undefined => find("statistics")?.querySelector<HTMLElement>("[data-statistic=l2_norm]")?.dataset;
  await waitFor(() => expect(line()).toMatchObject({ value: "12", there: "120", ratio: "0.1" }));
  item("parameter:gate.weight").click();
  await waitFor(() => expect(find("only-here")).not.toBeNull());
  item("#0").click();
  await waitFor(() => expect(find("compared")?.dataset).toMatchObject({ there: "120", ratio: "0.2" }));
  expect(find("legend")?.textContent).toContain("here ÷ there");
  choose("vs-reach", "1");
  await waitFor(() => expect(item("#0").dataset.color).toBe(ratioStops(LIGHT)[0]));
  await waitFor(() => expect(readHash()).toContain("p.gradgraph.vs.reach=1"));
  find("vs-close")!.click();
  await waitFor(() => expect(item("#0").dataset.ratio).toBeUndefined());
  expect(find("legend")?.textContent).not.toContain("÷");
  await waitFor(() => expect(readHash()).not.toContain("vs."));
});

test("the compared step can be moved by a slider of its own, and signed statistics compare magnitudes", async () => {
  writeHash("p.gradgraph.run=one&p.gradgraph.step=3&p.gradgraph.vs.step=0&p.gradgraph.stat=min");
  show(one());
  await waitFor(() => expect(find("compare-bar")?.dataset.ready).toBe("true"));
  const slider = find("vs-slider") as HTMLInputElement;
  slider.value = "1";
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  choose("statistic", "max");
  await waitFor(() => expect(ratioAt("parameter:up.weight")).toBe("2"));
  press("ArrowLeft");
  await waitFor(() => expect(ratioAt("parameter:up.weight")).toBe("1.5"));
});

test("C begins and ends a comparison; for graphs with little in common the rest is marked", async () => {
  show(chainRule(), one());
  await drawn("leaf:x");
  press("c");
  await waitFor(() => expect(find("compare-bar")).not.toBeNull());
  expect(find("compare")!.getAttribute("aria-pressed")).toBe("true");
  choose("vs-run", "one");
  // Nothing of the two is alike but the loss.
  await waitFor(() => expect(item("leaf:x").dataset.only).toBe("true"));
  expect(item("root:loss").dataset).toMatchObject({ only: "false", ratio: "1" });
  press("c");
  await waitFor(() => expect(find("compare-bar")).toBeNull());
});

test("a link to a missing run compares with nothing, and shows an empty choice", async () => {
  writeHash("p.gradgraph.vs.run=gone&p.gradgraph.vs.step=same");
  show(chainRule());
  await drawn("leaf:x");
  expect((find("vs-run") as HTMLSelectElement).value).toBe("");
  expect(item("leaf:x").dataset.ratio).toBeUndefined();
});

test("statistics without a logarithmic scale can be compared too", () => {
  const { comparison } = compared(one(), 0, two(), 0, statisticOf("zero_fraction"));
  const related: Related = relateNode(comparison, nodeOf(one(), "parameter:up.weight"));
  expect([related.here, related.there, related.log2]).toEqual([0.5, 0.5, 0]);
});

test("a ratio far from one is a factor that can be read: divided by so much, with groups of digits", () => {
  expect(factorText(Math.log2(1 / 10300))).toBe("÷10,300");
  expect(factorText(Math.log2(12345.6))).toBe("×12,350");
  expect(factorText(Math.log2(0.25))).toBe("×0.25");
  expect(factorText(Math.log2(3e8), true)).toBe("×−3e8");
});

test("the color is full where the ratios need it: nineteen in twenty differ in color", () => {
  const reaches = [1, 2, 4, 8, 16];
  expect(reachFor([0, 1, -2], reaches, 4)).toBe(4);
  expect(reachFor([...Array<number>(10).fill(0.5), ...Array<number>(10).fill(-7)], reaches, 4)).toBe(8);
  expect(reachFor([...Array<number>(19).fill(3), 12], reaches, 1)).toBe(4);
  expect(reachFor([NaN, Infinity, -Infinity], reaches, 4)).toBe(4);
  expect(reachFor([40], reaches, 4)).toBe(16);
});

test("the bar has the loss of both steps", async () => {
  writeHash("p.gradgraph.run=halves&p.gradgraph.step=3&p.gradgraph.vs.run=twice&p.gradgraph.vs.step=1");
  show(bothHalves(), bothHalves("twice", { factor: 2 }));
  await waitFor(() => expect(find("vs-losses")?.dataset).toMatchObject({ here: "32", there: "32" }));
  choose("vs-step-kind", "same");
  await waitFor(() => expect(find("vs-losses")?.dataset).toMatchObject({ here: "32", there: "128" })); // 2 (2 * 4)²
});
