// Complex gradients are labelled as magnitudes, and a row that could not be read says why.

import { expect, test } from "vitest";
import { chainRule } from "../../fixtures/examples.mjs";
import { labelOf, spoken, spokenIn } from "../../src/model/recorded/complex";
import { whyNone } from "../../src/model/recorded/gradient_flow";
import { statisticOf, type Statistic } from "../../src/model/recorded/statistics";
import { hierarchyOf, type FixtureRun } from "../fixture";
import { useStage, waitFor } from "../stage";

const stage = useStage();
const { show, one, item, drawn } = stage;

function complexRun(which: (row: number) => boolean): FixtureRun {
  const run = structuredClone(chainRule()) as FixtureRun;
  const slots = run.graph.slots as unknown as { dtype: string[] };
  slots.dtype = slots.dtype.map((dtype, row) => (which(row) ? "complex64" : dtype));
  return run;
}

const named = (id: string): Statistic => statisticOf(id)!;

test("only what differs for complex numbers is labelled", () => {
  expect(["mean", "std", "min", "max", "l2_norm", "numel"].map((id) => labelOf(id, id, true))).toEqual([
    "mean |g|",
    "std |g|",
    "min |g|",
    "max |g|",
    "l2_norm",
    "numel",
  ]);
  expect(labelOf("mean", "mean", false)).toBe("mean");
  expect(spoken(named("mean"), false)).toBe(named("mean"));
  expect(spoken(named("l2_norm"), true)).toBe(named("l2_norm"));
  expect(spoken(named("mean"), true)).toMatchObject({ label: "mean |g|", signed: false });
});

test("a graph knows whether all or some of its tensors are complex", () => {
  const graphs = [() => true, (row: number) => row === 0, () => false].map((which) => hierarchyOf(complexRun(which)).graph);
  expect(graphs.map((graph) => spokenIn(named("mean"), graph).label)).toEqual(["mean |g|", "mean (complex: |g|)", "mean"]);
  expect(graphs.map((graph) => spokenIn(named("mean"), graph).signed)).toEqual([false, true, true]);
  expect(spokenIn(named("mean"), undefined)).toBe(named("mean"));
});

test("the card of a complex tensor says so", async () => {
  show(complexRun(() => true));
  await drawn("leaf:x");
  item("leaf:x").click();
  await waitFor(() => expect(one("statistics")).not.toBeNull());
  const names = [...one("statistics")!.querySelectorAll("th")].map((cell) => cell.textContent);
  expect(names).toEqual(expect.arrayContaining(["L2 norm", "mean |g|", "std |g|", "min |g|", "max |g|"]));
});

test("a row that could not be read gives the reason", () => {
  const { graph } = hierarchyOf(complexRun(() => false));
  const record = {
    present: new Uint8Array(graph.columns.slots.dtype.length),
    unread: new Map([[0, "not read: the backward was compiled"]]),
  };
  expect(whyNone(graph, 0, 0, record as never)).toBe("Not read: the backward was compiled.");
});
