// The gradient along a loop: which nodes are lined up, and with which numbers.

import { expect, test } from "vitest";
import { loop } from "../../fixtures/compared.mjs";
import { chain, transformer } from "../../fixtures/examples.mjs";
import { loopOfCalls, loopOfGroup, loopOfNode, profileOf, type Loop } from "../../src/model/charts/profile";
import { DEFAULT_STATISTIC } from "../../src/model/recorded/statistics";
import { computeValues } from "../../src/model/visible/values";
import { writeHash } from "../../src/panel/session/host";
import { hierarchyOf, recordAt, type FixtureRun } from "../fixture";
import { CLICK, pointAtChart, useStage, waitFor } from "../stage";

const stage = useStage();

const profile = (run: FixtureRun, found: Loop | undefined): readonly (number | null)[] => {
  const hierarchy = hierarchyOf(run);
  return profileOf(hierarchy, found!, computeValues(hierarchy, recordAt(run, 0), DEFAULT_STATISTIC).nodes, DEFAULT_STATISTIC);
};

test("the number of a call is the greatest of its operations; the weight, which all calls share, counts for none", () => {
  const run = loop(5);
  const found = loopOfCalls(hierarchyOf(run), "cell")!;
  expect(found).toMatchObject({
    what: "calls",
    name: "cell",
    indices: [0, 1, 2, 3, 4],
    ids: ["cell#0", "cell#1", "cell#2", "cell#3", "cell#4"],
  });
  expect(profile(run, found)).toEqual([1 / 16, 1 / 8, 1 / 4, 1 / 2, 1]);
});

test("for a node: the same operation in each call", () => {
  const run = loop(4);
  const hierarchy = hierarchyOf(run);
  const found = loopOfNode(hierarchy, hierarchy.graph.columns.nodes.key.indexOf("cell#1/MmBackward0.0"))!;
  expect(found.ids).toEqual([0, 1, 2, 3].map((call) => `cell#${call}/MmBackward0.0`));
  expect(profile(run, found)).toEqual([0.75 / 8, 0.75 / 4, 0.75 / 2, 0.75]);
  expect(loopOfNode(hierarchy, 1)).toBeUndefined(); // a parameter
});

test("for an operation without a module: its repetitions in order", () => {
  const run = chain(12);
  const hierarchy = hierarchyOf(run);
  const found = loopOfNode(hierarchy, hierarchy.graph.columns.nodes.key.indexOf("/MulBackward0.3"))!;
  expect(found.what).toBe("repetitions");
  expect(found.indices).toEqual(Array.from({ length: 12 }, (_, i) => i)); // 10 comes after 9
  const record = recordAt(run, 0);
  expect(profile(run, found)).toEqual(found.ids.map((id) => record.values[hierarchy.graph.columns.nodes.key.indexOf(id)]));
});

test("for a fold: its repetitions, which are calls of a module or blocks", () => {
  const run = loop(40);
  const hierarchy = hierarchyOf(run);
  const fold = hierarchy.groups.findIndex(({ kind }) => kind === "repeat");
  expect(loopOfGroup(hierarchy, fold)?.ids).toEqual(loopOfCalls(hierarchy, "cell")!.ids);
  const blocks = transformer(20, 1);
  const tall = hierarchyOf(blocks);
  const row = tall.groups.findIndex(({ kind }) => kind === "repeat");
  const found = loopOfGroup(tall, row)!;
  expect(found).toMatchObject({ what: "blocks", name: "Block", ids: Array.from({ length: 20 }, (_, i) => `h.${i}#0`) });
  const record = recordAt(blocks, 0);
  const { key, kind } = tall.graph.columns.nodes;
  const greatest = (prefix: string): number =>
    Math.max(...key.flatMap((one, node) => (one.startsWith(prefix) && kind[node] === "operation" ? [record.values[node]!] : [])));
  // Of a fold of operations, also of one that is cut into chunks, the repetitions of its first.
  const long = hierarchyOf(chain(5000));
  expect(loopOfGroup(long, 0)?.indices).toHaveLength(5000);
  expect(profile(blocks, found)).toEqual(
    found.ids.map((_, i) => (greatest(`h.${i}#`) > greatest(`h.${i}.`) ? greatest(`h.${i}#`) : greatest(`h.${i}.`))),
  );
});

test("two calls are no loop, and a missing number is a gap", () => {
  expect(loopOfCalls(hierarchyOf(loop(2)), "cell")).toBeUndefined();
  const run = loop(3);
  const hierarchy = hierarchyOf(run);
  const values = computeValues(hierarchy, recordAt(run, 0), DEFAULT_STATISTIC).nodes;
  for (const key of ["cell#1/MmBackward0.0", "cell#1/TanhBackward0.0"]) {
    const node = hierarchy.graph.columns.nodes.key.indexOf(key);
    values.value[node] = NaN;
    values.state[node] = 0;
  }
  expect(profileOf(hierarchy, loopOfCalls(hierarchy, "cell")!, values, DEFAULT_STATISTIC)).toEqual([0.25, null, 1]);
});

test("on the card, with the loop that is compared with; a click goes to the call", async () => {
  writeHash("p.gradgraph.run=loop&p.gradgraph.sel=cell%235&p.gradgraph.vs.run=longer&p.gradgraph.vs.step=same");
  stage.show(loop(), loop(8, 2, "longer", "100c"));
  const key = (): readonly string[] =>
    [...(stage.one("profile-key")?.querySelectorAll<HTMLElement>("[data-line]") ?? [])].map(
      ({ dataset }) => `${dataset.line} ${dataset.value}`,
    );
  await waitFor(() => expect(key()).toEqual(["here 1", "there 4"]));
  expect(stage.one("profile-chart")?.dataset).toMatchObject({ points: "14", log: "true", step: "5" });
  await waitFor(() => {
    pointAtChart(stage.one("profile-chart")!, 0.01);
    expect(key()).toEqual(["here 0.03125", "there 128"]);
  });
  pointAtChart(stage.one("profile-chart")!, 0.01, CLICK);
  await waitFor(() => expect(stage.one("card")?.dataset.key).toBe("cell#0"));
});
