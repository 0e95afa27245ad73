// What a run does not show at once: records that a later session hides, modules that were not called, what is estimated.

import { expect, test } from "vitest";
import { graphOf, recordOf, runOf } from "../../fixtures/build.mjs";
import { chainRule, training } from "../../fixtures/examples.mjs";
import type { GraphColumns } from "../../src/model/recorded/graph_columns";
import { NOT_CALLED, UNCALLED_FROM, withUncalled } from "../../src/model/recorded/uncalled";
import { readHash, writeHash } from "../../src/panel/session/host";
import { hierarchyOf, type FixtureRun } from "../fixture";
import { useStage, waitFor } from "../stage";

const { show, one, item, drawn, choose } = useStage();

const TEXT = "12 records of tag loss at 6 steps, 0 to 5, of session 1 are hidden: session 2 began at step 0 in the same directory.";

function restarted(): readonly FixtureRun[] {
  const run = chainRule();
  const name = `${run.run} (session 1)`;
  const hidden = [{ run: name, tag: run.tag, records: 12, steps: [0, 1, 2, 3, 4, 5], from_step: 0, text: TEXT, cure: "set watch.step" }];
  return [{ ...run, hidden } as FixtureRun, { ...run, run: name, isSession: true } as FixtureRun];
}

test("hidden records are reported, can be shown as a run, and stay in the link", async () => {
  show(...restarted());
  await drawn("leaf:x");
  expect(one("hidden")?.textContent).toContain(TEXT);
  expect(one("all-sessions")?.textContent).toBe("Show hidden sessions as runs");
  one("all-sessions")!.click();
  await waitFor(() => expect(one("run")?.textContent).toContain("(session 1)"));
  choose("run", "chain_rule (session 1)");
  await waitFor(() => expect(readHash()).toContain("p.gradgraph.sessions=all"));
  await drawn("leaf:x");
  one("all-sessions")!.click();
  await waitFor(() => expect(one("all-sessions")?.textContent).toBe("Show hidden sessions as runs"));
  await waitFor(() => expect(one("run")?.textContent ?? "").not.toContain("(session 1)"));
});

test("a link to a hidden session opens it", async () => {
  writeHash("p.gradgraph.run=chain_rule (session 1)&p.gradgraph.sessions=all");
  show(...restarted());
  await drawn("leaf:x");
  await waitFor(() => expect((one("run") as HTMLSelectElement).value).toBe("chain_rule (session 1)"));
  expect(one("waiting")).toBeNull();
});

test("a run without hidden records says nothing", async () => {
  show(chainRule());
  await drawn("leaf:x");
  expect(one("hidden")).toBeNull();
});

// `modules` of two parameters each that nothing uses, beside one that is called.
function unused(modules: number): FixtureRun {
  const names = Array.from({ length: modules }, (_, i) => [`experts.${i}.weight`, `experts.${i}.bias`]).flat();
  const graph = graphOf({
    hash: "ca11",
    scopes: [
      ["", 0, "Net", -1],
      ["used", 0, "Linear", 0],
    ] as never[],
    edges: [
      [0, 1],
      [1, 2],
    ],
    nodes: [
      { key: "parameter:used.weight", name: "used.weight", kind: "parameter", scope: 1, shape: [2] },
      { key: "used#0/MulBackward0.0", kind: "operation", operation: "MulBackward0", scope: 1, shape: [2] },
      { key: "root:loss", name: "loss", kind: "root" },
      ...names.map((name) => ({ key: `parameter:${name}`, name, kind: "parameter", shape: [2], reason: "unused", note: "Unused." })),
    ],
  });
  return runOf("unused", "net", graph, [recordOf(graph, 0, [[1, 2], [1, 2], [1]])]) as FixtureRun;
}

test("many parameters of modules that were not called are one box per module, in one row", () => {
  const { groups, top } = hierarchyOf(unused(1000));
  const module = groups.find(({ title }) => title === "experts");
  expect(module?.subtitle).toContain(NOT_CALLED);
  expect(groups.filter(({ subtitle, title }) => subtitle === NOT_CALLED && title !== "experts").length).toBe(1000);
  expect(top.length).toBeLessThan(5);
});

test("few parameters are drawn separately, and called modules do not move", () => {
  const few = unused(Math.floor(UNCALLED_FROM / 2)).graph;
  expect(withUncalled(few)).toBe(few);
  const many: GraphColumns = unused(20).graph;
  const found = withUncalled(many);
  expect(found.nodes.scope.slice(0, 3)).toEqual(many.nodes.scope.slice(0, 3));
  expect(found.scopes.path.slice(2, 4)).toEqual(["experts", "experts.0"]);
  expect(found.scopes.parent.slice(2, 4)).toEqual([0, 2]);
});

test("an estimated update is marked, with its spread", async () => {
  const run = training() as FixtureRun & { records: readonly { step: number; stage: string; values: Float32Array; rows: number }[] };
  for (const record of run.records) if (record.stage === "applied") record.values[14 * record.rows + 1] = 0.0125;
  show(run);
  await drawn("parameter:w");
  item("parameter:w").click();
  await waitFor(() => expect(one("estimate")?.textContent).toBe("≈ 0.5 ± 0.0125"));
  const listed = [...(one("statistics")?.querySelectorAll<HTMLElement>("[data-statistic]") ?? [])].map(
    ({ dataset }) => dataset["statistic"],
  );
  expect(listed).toContain("l2_norm");
  expect(listed).not.toContain("update_spread"); // it is no number of the gradient
});
