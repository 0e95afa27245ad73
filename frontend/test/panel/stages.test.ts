// A training with its optimizer's steps: the stage that is shown, what a parameter's card says of it, what is said of the step.

import { expect, test } from "vitest";
import { chainRule, training } from "../../fixtures/examples.mjs";
import { lastRecord, nearestRecord, samePlace, stagesAt, standingAt, type RecordRef } from "../../src/model/recorded/run";
import { readHash, writeHash } from "../../src/panel/session/host";
import { press, useStage, waitFor } from "../stage";

const stage = useStage();
const { show, one, item, drawn, choose } = stage;

const shown = (): string[] => ["step", "stage", "pass"].map((id) => (one(id) as HTMLInputElement | null)?.value ?? "");
const optionsOf = (id: string): string[] => [...(one(id)?.querySelectorAll("option") ?? [])].map(({ value }) => value);
const at = (step: string, name: string, pass: string): Promise<void> => waitFor(() => expect(shown()).toEqual([step, name, pass]));

const refs = ["0 backward 0", "0 backward 1", "0 applied 0", "10 backward 0", "10 backward 1", "10 unscaled 0"].map((text) => {
  const [step, name, pass] = text.split(" ");
  return { step: Number(step), stage: name, backwardPass: Number(pass) } as RecordRef;
});

test.each([
  [[0, 1, "backward"], 1],
  [[0, 0, "applied"], 2],
  [[0, 9, "applied"], 2],
  [[10, 0, "applied"], 5],
  [[10, 0, "accumulated"], 3],
  [[10, 1, "accumulated"], 4],
  [[4, 0, "clipped"], 2],
  [[99, 1, "backward"], 4],
] as const)("nearest to %j is record %i", ([step, pass, name], index) => {
  expect(nearestRecord(refs, step, pass, name)).toBe(index);
});

test("the end is the last pass of the shown stage", () => {
  expect([lastRecord(refs), lastRecord(refs, "applied"), lastRecord([])]).toEqual([4, 5, 0]);
  const standing = standingAt(refs, refs[4], "backward");
  expect(standing).toMatchObject({ atLastRecord: true });
  const more = [
    ...refs,
    { step: 20, stage: "backward", backwardPass: 0 } as RecordRef,
    { step: 20, stage: "applied", backwardPass: 0 } as RecordRef,
  ];
  expect(samePlace(more, standing)).toBe(6);
  expect(stagesAt(refs, 0)).toEqual(["backward", "applied"]);
});

test("a step begins at the last pass of its backward; the stage can be chosen and is kept from step to step", async () => {
  show(training());
  await drawn("parameter:w");
  await at("20", "backward", "1");
  expect(optionsOf("stage")).toEqual(["backward", "accumulated", "unscaled", "clipped", "applied"]);
  choose("stage", "applied");
  await at("20", "applied", "");
  await waitFor(() => expect(item("parameter:w").dataset.value).toBe("1"));
  press("ArrowLeft");
  await at("10", "unscaled", ""); // this one was skipped before it was clipped
  press("ArrowLeft");
  await at("0", "applied", "");
  expect(stage.asked.filter((url) => url.includes("/step?")).at(-1)).toContain("stage=applied");
});

test("the view's stage is in the address, and an address opens it", async () => {
  writeHash("p.gradgraph.run=training&p.gradgraph.step=20&p.gradgraph.stage=clipped");
  show(training());
  await at("20", "clipped", "");
  choose("stage", "applied");
  await waitFor(() => expect(readHash()).toContain("p.gradgraph.stage=applied"));
  choose("stage", "backward");
  await waitFor(() => expect(readHash()).not.toContain("p.gradgraph.stage"));
});

test("after the backward, boxes without a record are not reported as without gradient", async () => {
  writeHash("p.gradgraph.step=20&p.gradgraph.stage=applied");
  show(training());
  await waitFor(() => expect(item("parameter:w").dataset.value).toBe("1"));
  expect(item("/MulBackward0.0").dataset.detail).toBe("[2]");
  expect(item("parameter:spare").dataset.detail).toBe("unused");
  item("/MulBackward0.0").click();
  await waitFor(() => expect(one("why")?.textContent).toBe("At the stage applied only parameters are recorded."));
  expect(one("legend")?.textContent).toContain("Gradient, applied, L2 norm");
});

test("a parameter's card has its gradient at each stage, its weight and its update", async () => {
  show(training());
  await drawn("parameter:w");
  item("parameter:w").click();
  await waitFor(() => expect(one("stages")).not.toBeNull());
  const rows = [...one("stages")!.querySelectorAll<HTMLElement>("tr[data-stage]")];
  const norms = rows.map((row) => [
    row.textContent!.match(/^[a-z]+( \d)?/)![0],
    row.querySelector<HTMLElement>("[data-statistic=l2_norm]")!.dataset.value,
  ]);
  const whole = String(Number(Math.hypot(50, 4).toPrecision(6)));
  const sum = String(Number(Math.hypot(100, 8).toPrecision(6)));
  expect(norms).toEqual([
    ["backward 1", whole],
    ["backward 2", whole],
    ["accumulated", sum],
    ["unscaled", sum],
    ["clipped", "1"],
    ["applied", "1"],
  ]);
  expect([...one("weight")!.querySelectorAll<HTMLElement>("[data-value]")].map(({ dataset }) => dataset.value)).toEqual([
    "22",
    "0.5",
    "0.0227273",
  ]);
  expect(rows.map((row) => row.className)).toEqual(["", "marked", "", "", "", ""]);
  rows[0]!.querySelector("button")!.click();
  await at("20", "backward", "0");
  rows[4]!.querySelector("button")!.click();
  await at("20", "clipped", "");
  expect([...one("statistics")!.querySelectorAll<HTMLElement>("[data-statistic]")].map(({ dataset }) => dataset.statistic)).not.toContain(
    "weight_norm",
  );
});

test("over the steps: the gradient of each stage, weight, update and their ratio", async () => {
  show(training());
  await drawn("parameter:w");
  item("parameter:w").click();
  await waitFor(() => expect(one("chart")).not.toBeNull());
  expect(one("history")?.querySelector("h3")?.textContent).toBe("L2 norm of the gradient over steps, backward, pass 2");
  expect(optionsOf("chart-of")).toEqual([
    "backward",
    "accumulated",
    "unscaled",
    "clipped",
    "applied",
    "weight_norm",
    "update_norm",
    "update_ratio",
    "every_stage",
    "norms",
  ]);
  const points: Readonly<Record<string, string>> = {
    accumulated: "3",
    applied: "2",
    weight_norm: "2",
    every_stage: "13",
    norms: "8",
    update_ratio: "2",
  };
  for (const [id, count] of Object.entries(points)) {
    choose("chart-of", id);
    await waitFor(() => expect(one("chart")?.dataset.points).toBe(count));
  }
  expect(one("history")?.querySelector("h3")?.textContent).toBe("update / weight over steps");
  choose("stage", "accumulated"); // what was chosen to be drawn stays
  await waitFor(() => expect((one("chart-of") as HTMLSelectElement).value).toBe("update_ratio"));
});

test("loss scale, cadence, cost and a skipped step are shown next to the step", async () => {
  show(training());
  await drawn("parameter:w");
  expect(one("told")?.textContent).toBe("loss scale 1024every 10 steps, cost 1.3 %");
  expect(one("cadence")?.title).toBe(
    "Every 10th step was recorded then. Recording took 1.3 % of the time since the previous recorded step.",
  );
  press("ArrowLeft");
  await waitFor(() => expect(one("skipped")?.textContent).toBe("skipped"));
  expect(one("bad-steps")?.dataset.steps).toBe("10");
});

test("a log with only backward passes shows no stages", async () => {
  show(chainRule());
  await drawn("leaf:x");
  item("leaf:x").click();
  await waitFor(() => expect(one("histogram")).not.toBeNull());
  expect([one("stage"), one("stages"), one("weight"), one("skipped"), one("chart-of")]).toEqual([null, null, null, null, null]);
  expect(one("told")?.textContent).toBe("");
});
