// One run against several: the median of their numbers, the range, and what is beyond it.

import { expect, test } from "vitest";
import { one, seed, two } from "../../fixtures/compared.mjs";
import { comparedCodesOf, ratioPaletteOf } from "../../src/draw/flow/flow_codes";
import { LIGHT } from "../../src/draw/style/theme";
import { compare, relateGroup, relateLine, relateNode, Relation } from "../../src/model/compare/comparison";
import { joinGraphs } from "../../src/model/compare/joined";
import { beyond, middleOf } from "../../src/model/compare/middle";
import { compareFlows, relatedAt } from "../../src/model/flow/flow_compared";
import { DEFAULT_STATISTIC } from "../../src/model/recorded/statistics";
import type { VisibleEdge } from "../../src/model/visible/collapse";
import { computeValues, State } from "../../src/model/visible/values";
import { readHash, writeHash } from "../../src/panel/session/host";
import { parseAddress } from "../../src/state/address";
import { flowOf, hierarchyOf, recordAt, type FixtureRun } from "../fixture";
import { useStage, waitFor } from "../stage";

const stage = useStage();
const { show, choose, drawn, item } = stage;
const find = (id: string): HTMLElement => stage.one(id)!;

const values = (...numbers: readonly (number | undefined)[]) => ({
  value: Float32Array.from(numbers, (one) => one ?? NaN),
  state: Uint8Array.from(numbers, (one) =>
    one === undefined ? State.none : Number.isNaN(one) ? State.nonfinite : one === 0 ? State.zero : State.number,
  ),
});

function group(here: FixtureRun, others: readonly FixtureRun[], step: number) {
  const shown = hierarchyOf(here);
  const [first, ...more] = others.map((run) => {
    const [hierarchy, record] = [hierarchyOf(run), recordAt(run, step)];
    return { hierarchy, record, values: computeValues(hierarchy, record, DEFAULT_STATISTIC), joined: joinGraphs(shown, hierarchy) };
  });
  return compare(shown, computeValues(shown, recordAt(here, step), DEFAULT_STATISTIC), [first!, ...more], DEFAULT_STATISTIC);
}

test("at each place the runs count that have a number there", () => {
  const middle = middleOf([values(1, 5, NaN, undefined, 0), values(-3, NaN, NaN, undefined, 0), values(8, undefined, NaN, undefined, 4)]);
  expect([...middle.value]).toEqual([1, 5, NaN, NaN, 0]);
  expect([...middle.state]).toEqual([State.number, State.number, State.nonfinite, State.none, State.zero]);
  expect("low" in middle && [[...middle.low], [...middle.high]]).toEqual([
    [-3, 5, NaN, NaN, 0],
    [8, 5, NaN, NaN, 4],
  ]);
  const alone = values(1);
  expect(middleOf([alone])).toBe(alone);
  expect([beyond(9, [1, 8]), beyond(8, [1, 8]), beyond(0.5, [1, 8]), beyond(9, undefined)]).toEqual([1, 0, -1, 0]);
});

test("a node, a module and a line are compared with the median of the runs, whatever their graphs", () => {
  const comparison = group(one(), [seed("a", 2), seed("b", 5), seed("c", 4), two()], 0);
  const nodeOf = (key: string): number => one().graph.nodes.key.indexOf(key);
  // Here 3; there 6, 15, 12 and in the other graph 24.
  expect(relateNode(comparison, nodeOf("parameter:up.weight"))).toMatchObject({ here: 3, there: 13.5, range: [6, 24] });
  // The other graph has no gate: three runs count.
  expect(relateNode(comparison, nodeOf("parameter:gate.weight"))).toMatchObject({ here: 3, there: 12, range: [6, 15] });
  // Here 6, there 12, 30, 24 and 1.5.
  expect(relateNode(comparison, nodeOf("parameter:down.weight"))).toMatchObject({ here: 6, there: 18, range: [1.5, 30] });
  const shown = hierarchyOf(one());
  // The greatest in the model: 12, 30, 24 (down) and 24 (up of the other graph).
  expect(relateGroup(comparison, shown.groupOf.get("#0")!)).toMatchObject({ here: 6, there: 24, range: [12, 30] });
  const { source, target } = one().graph.edges;
  const edge = source.findIndex((from, i) => from === nodeOf("parameter:up.weight") && target[i] === nodeOf("up#0/MmBackward0.0"));
  const line = { edges: [edge] } as unknown as VisibleEdge;
  expect(relateLine(comparison, shown.graph, line)).toMatchObject({ here: 3, there: 13.5, range: [6, 24] });
});

test("in the heat map, cells beyond the range are dotted", () => {
  const own = flowOf(one());
  const others = [seed("a", 0.5), seed("b", 2), seed("c", 1.5, 1), seed("d", 1.5)].map((run) => {
    const flow = flowOf(run);
    return { flow, joined: joinGraphs(own.hierarchy, flow.hierarchy), against: undefined };
  });
  const node = one().graph.nodes.key.indexOf("parameter:up.weight");
  const flow = compareFlows(own, [others[0]!, ...others.slice(1)]);
  // Here 3 a step; there 1.5, 6, 4.5 and 4.5, of which one is NaN at step 1.
  expect(relatedAt(flow, node, 0)).toMatchObject({ relation: Relation.both, here: 3, there: 4.5, range: [1.5, 6] });
  expect(relatedAt(flow, node, 1)).toMatchObject({ relation: Relation.both, here: 6, there: 9, range: [3, 12] });
  const { lean } = ratioPaletteOf(LIGHT, "gradient");
  const leanAt = (flow: Parameters<typeof comparedCodesOf>[0]) => lean[comparedCodesOf(flow, 4)[node * own.steps.length]!];
  expect(leanAt(flow)).toBe(0);
  expect(leanAt(compareFlows(own, [others[1]!, others[3]!]))).toBe(2); // 3 is below 6 and 4.5
  expect(leanAt(compareFlows(own, [others[1]!]))).toBe(0); // one run has no range
});

test("several runs are chosen in the bar; boxes, card and rows say the median and the range, and the link keeps them", async () => {
  writeHash("p.gradgraph.step=1");
  show(seed("here", 1), seed("a", 2), seed("b", 5), seed("c", 4));
  await drawn("#0");
  find("compare").click();
  await waitFor(() => expect(stage.one("vs-run")).not.toBeNull());
  choose("vs-run", "\n");
  await waitFor(() => expect(find("compare-bar").dataset).toMatchObject({ runs: "3", ready: "true" }));
  find("expand-all").click();
  await drawn("parameter:up.weight");
  await waitFor(() => expect(Number(item("parameter:up.weight").dataset.ratio)).toBeCloseTo(1 / 4, 6));
  expect(find("legend").textContent).toContain("the median of 3 runs");
  await waitFor(() => expect(find("vs-losses").textContent).toBe("Loss 0.5 here, 2 median there (1 … 2.5)"));
  expect(stage.one("vs-swap")).toBeNull();
  item("parameter:up.weight").click();
  const row = (): HTMLElement => stage.place.querySelector<HTMLElement>('[data-testid="card"] [data-statistic="l2_norm"]')!;
  await waitFor(() => expect(row()?.dataset).toMatchObject({ value: "6", there: "24", range: "12,30" }));
  expect(row().querySelector(".range")!.textContent).toBe("12 … 30");
  expect(row().lastElementChild!.textContent).toBe("×0.25 ▼");
  await waitFor(() => expect(parseAddress(readHash()).vs).toMatchObject({ runs: "every" }));
  find("vs-runs").click();
  const box = (): HTMLElement | null => stage.place.querySelector<HTMLElement>('[data-testid="vs-one"][data-run="c"]');
  await waitFor(() => expect(box()).not.toBeNull());
  box()!.click();
  await waitFor(() => expect(find("compare-bar").dataset.runs).toBe("2"));
  await waitFor(() => expect(row().dataset).toMatchObject({ there: "21", range: "12,30" }));
  await waitFor(() => expect(parseAddress(readHash()).vs).toMatchObject({ runs: ["a", "b"], run: undefined }));
  find("view-flow").click();
  const cell = (): string | undefined =>
    stage.place.querySelector<HTMLElement>('[data-row][data-key="parameter:up.weight"]')?.dataset.value;
  await waitFor(() => expect(cell()).toBe("×0.2857 ▼"));
  // The loss here is 1 / 2, there 2 / 2 and 5 / 2.
  await waitFor(() => expect(stage.one("scalar-there")?.textContent).toBe("1.75 median there"));
  expect(find("scalar-ends").textContent).toBe("50.25"); // of all lines: 5 at first, 1 / 4 at last
  // The link alone shows the same.
  await waitFor(() => expect(readHash()).toContain("view=flow"));
  const link = readHash().slice(1);
  show();
  writeHash(link);
  show(seed("here", 1), seed("a", 2), seed("b", 5), seed("c", 4));
  await waitFor(() => expect(cell()).toBe("×0.2857 ▼"));
});
