// Where the user stands when run, graph or structure change: step, selection, open groups, camera.

import { expect, test } from "vitest";
import { chainRule, emptyRun, states, transformer, twoStructures } from "../../fixtures/examples.mjs";
import { readHash, writeHash } from "../../src/panel/session/host";
import type { FixtureRun } from "../fixture";
import { press, settle, useStage, waitFor } from "../stage";

const stage = useStage();
const { show, one, item, drawn, choose } = stage;
const step = (): string => (one("step") as HTMLInputElement).value;

// The same net, recorded at other steps and of other depth where wanted.
function renamed(run: FixtureRun, name: string, keep: (step: number) => boolean = () => true): FixtureRun {
  return { ...run, run: name, records: run.records.filter((record) => keep(record.step)) };
}

function inView(key: string): boolean {
  const { clientWidth, clientHeight } = one("canvas")!;
  const { x, y } = stage.middleOf(key);
  return x > 10 && y > 10 && x < clientWidth - 10 && y < clientHeight - 10;
}

test("a run without records says so, and keeps nothing of the former run", async () => {
  show(chainRule(), emptyRun());
  await drawn("leaf:x");
  item("leaf:x").click();
  await waitFor(() => expect(one("card")).not.toBeNull());
  choose("run", "empty");
  await waitFor(() => expect(one("nothing-recorded")?.textContent).toContain("Nothing recorded in this run"));
  expect([one("card"), one("tree"), one("findings"), one("slider"), one("loading")]).toEqual([null, null, null, null, null]);
  choose("run", "chain_rule");
  await drawn("leaf:x");
  expect(one("card")).toBeNull();
});

test("a link to a run without records says so; once it has records they are drawn", async () => {
  writeHash("p.gradgraph.run=empty");
  show(chainRule(), emptyRun());
  await waitFor(() => expect(one("nothing-recorded")?.textContent).toContain("empty"));
  expect(one("loading")).toBeNull();
});

const LATE = "p.gradgraph.run=late&p.gradgraph.tag=GPT&p.gradgraph.step=3&p.gradgraph.sel=h.1%230";
const run = (): string => (one("run") as HTMLSelectElement).value;

async function showWaiting(): Promise<readonly FixtureRun[]> {
  const late = renamed(transformer(2, 6), "late");
  writeHash(LATE);
  stage.options = { soonestMs: 30 };
  show(chainRule());
  await drawn("leaf:x");
  await waitFor(() => expect(one("waiting")?.textContent).toContain('no run "late" here yet'));
  return [chainRule(), late];
}

test("a link to a run that does not exist yet waits for it, keeps its address, and then goes there", async () => {
  const both = await showWaiting();
  expect(one("waiting")?.textContent).toContain('Until then you see "chain_rule"');
  expect(one("notice")).toBeNull();
  stage.choose("statistic", "abs_max");
  await waitFor(() => expect(readHash()).toContain("stat=abs_max"));
  for (const part of LATE.split("&")) expect(readHash()).toContain(part);
  // Read, but without a record yet.
  stage.runs = [chainRule(), emptyRun("late")];
  await waitFor(() => expect((one("run") as HTMLSelectElement).options).toHaveLength(2));
  expect(run()).toBe("chain_rule");
  stage.runs = both;
  await drawn("h.1#0");
  expect([run(), step(), one("waiting")]).toEqual(["late", "3", null]);
  await waitFor(() => expect(one("card")?.dataset.key).toBe("h.1#0"));
});

test.each<[string, () => void]>([
  ["another step", () => press("ArrowLeft")],
  ["to stay", () => one("stay")!.click()],
  ["the run that is shown", () => choose("run", "chain_rule")],
])("who chose %s meanwhile is left there when the run comes", async (_, meanwhile) => {
  const both = await showWaiting();
  meanwhile();
  await waitFor(() => expect(one("waiting")).toBeNull());
  stage.runs = both;
  await waitFor(() => expect((one("run") as HTMLSelectElement).options).toHaveLength(2));
  await waitFor(() => expect(readHash()).toContain("run=chain_rule"));
  expect(run()).toBe("chain_rule");
});

test("an address that changes to a run that does not exist yet waits for it too", async () => {
  const late = renamed(transformer(2, 6), "late");
  stage.options = { soonestMs: 30 };
  show(chainRule());
  await drawn("leaf:x");
  await waitFor(() => expect(readHash()).toContain("run=chain_rule"));
  writeHash(LATE);
  for (const one of [window, window.parent]) one.dispatchEvent(new HashChangeEvent("hashchange"));
  await waitFor(() => expect(one("waiting")).not.toBeNull());
  expect(run()).toBe("chain_rule");
  stage.runs = [chainRule(), late];
  await drawn("h.1#0");
  expect([run(), step(), one("waiting")]).toEqual(["late", "3", null]);
});

test("without a request, a run that has records is shown first", async () => {
  show(emptyRun("a"), chainRule());
  await drawn("leaf:x");
  expect((one("run") as HTMLSelectElement).value).toBe("chain_rule");
});

test("another run is shown at the same or the nearest step, and at its end if the step was the last one", async () => {
  const every = transformer(2, 40);
  show(
    renamed(every, "every"),
    renamed(every, "fourth", (at) => at % 4 === 0),
    renamed(every, "few", (at) => at < 12),
  );
  await drawn("h.0#0");
  choose("run", "few");
  await waitFor(() => expect(step()).toBe("11"));
  choose("run", "every");
  await waitFor(() => expect(step()).toBe("39"));
  for (let i = 0; i < 16; i++) press("ArrowLeft");
  await waitFor(() => expect(step()).toBe("23"));
  choose("run", "fourth");
  await waitFor(() => expect(step()).toBe("24"));
  choose("run", "every");
  await waitFor(() => expect(step()).toBe("24"));
  choose("run", "few");
  await waitFor(() => expect(step()).toBe("11"));
});

test("a run whose graph lacks the selected node closes the card and requests nothing of the old graph", async () => {
  show(transformer(3, 4), renamed(states(), "states"));
  await drawn("h.0#0");
  item("h.0#0").click();
  await waitFor(() => expect(one("card")).not.toBeNull());
  item("root:loss").click();
  await waitFor(() => expect(one("chart")).not.toBeNull());
  stage.asked.length = 0;
  choose("run", "states");
  await waitFor(() => expect(item("lin#0")).toBeDefined());
  expect(one("card")).toBeNull();
  expect(stage.asked.filter((url) => url.includes("node?"))).toEqual([]);
  await waitFor(() => expect(readHash()).toContain("run=states"));
  expect(readHash()).not.toContain("p.gradgraph.sel");
  expect(readHash()).not.toContain("p.gradgraph.open");
});

test("a node that the other graph has too stays selected, with the groups around it open", async () => {
  show(transformer(3, 4), transformer(4, 4));
  await drawn("h.0#0");
  await stage.find("h.2.mlp.0.bias", "parameter:h.2.mlp.0.bias");
  await waitFor(() => expect(one("card")?.dataset.key).toBe("parameter:h.2.mlp.0.bias"));
  choose("run", "transformer_4");
  await waitFor(() => expect(item("h.3#0")).toBeDefined());
  await waitFor(() => expect(item("parameter:h.2.mlp.0.bias").getAttribute("aria-selected")).toBe("true"));
  await waitFor(() => expect(inView("parameter:h.2.mlp.0.bias")).toBe(true));
});

test("the camera starts again for another run, and after all groups were closed or opened", async () => {
  const blocks = "#0~repeat:h.0#0";
  show(transformer(12, 2), chainRule(), renamed(transformer(12, 2), "same net"));
  await drawn(blocks);
  await waitFor(() => expect(one("canvas")?.dataset.camera).toBeDefined());
  const first = stage.camera();
  for (let i = 0; i < 6; i++) one("zoom-in")?.click();
  await waitFor(() => expect(stage.camera().k).toBeGreaterThan(first.k * 2));
  choose("run", "chain_rule");
  await drawn("leaf:x");
  await waitFor(() => expect(["leaf:x", "root:loss"].map(inView)).toEqual([true, true]));
  choose("run", "transformer_12");
  await drawn(blocks);
  await waitFor(() => expect(stage.camera()).toEqual(first));
  for (let i = 0; i < 6; i++) one("zoom-in")?.click();
  choose("run", "same net");
  await waitFor(() => expect(stage.camera()).toEqual(first));
  one("expand-all")?.click();
  await waitFor(() => expect(item("h.5.attn#0").getAttribute("aria-expanded")).toBe("true"));
  for (let i = 0; i < 6; i++) one("zoom-in")?.click();
  one("collapse-all")?.click();
  await waitFor(() => expect(item(blocks).getAttribute("aria-expanded")).toBe("false"));
  await waitFor(() => expect(inView("input:ids")).toBe(true));
});

test("another structure under one tag is drawn again, in the colors of the same scale", async () => {
  show(twoStructures());
  await drawn("/TanhBackward0.0");
  await waitFor(() => expect(one("legend")?.dataset.high).toBe(String(Math.fround(1000 * Math.sqrt(3)))));
  const scale = { ...one("legend")!.dataset };
  for (let i = 0; i < 6; i++) one("zoom-in")?.click();
  choose("hash", "0001");
  await waitFor(() => expect(stage.keys()).not.toContain("/TanhBackward0.0"));
  await waitFor(() => expect(["parameter:w", "root:loss"].map(inView)).toEqual([true, true]));
  await settle(100);
  expect({ ...one("legend")!.dataset }).toEqual(scale);
  expect(one("hash")?.closest("label")?.title).toContain("nearest of its steps");
  expect([...one("hash")!.querySelectorAll("option")].map(({ textContent }) => textContent)).toEqual(["1: step 0, 2", "2: step 1, 3"]);
});

test("a result of Find comes into view, large enough to be read", async () => {
  show(transformer(40, 2));
  await drawn("#0~repeat:h.0#0");
  await waitFor(() => expect(one("canvas")?.dataset.camera).toBeDefined());
  for (let i = 0; i < 12; i++) one("zoom-out")?.click();
  await waitFor(() => expect(stage.camera().k).toBeLessThan(0.2));
  await stage.find("h.30.attn.c_proj.bias", "parameter:h.30.attn.c_proj.bias");
  await waitFor(() => expect(stage.camera().k).toBeGreaterThan(0.6)); // from afar it is in view already
  expect(inView("parameter:h.30.attn.c_proj.bias")).toBe(true);
  await settle(700); // the card has opened and taken its room
  expect(inView("parameter:h.30.attn.c_proj.bias")).toBe(true);
});

test("a link with a selection opens the groups around the node, selects it and shows it", async () => {
  writeHash("p.gradgraph.sel=parameter%3Ah.30.attn.c_proj.bias");
  show(transformer(40, 2));
  await drawn("h.0#0");
  await waitFor(() => expect(item("parameter:h.30.attn.c_proj.bias").getAttribute("aria-selected")).toBe("true"));
  expect(item("h.30.attn#0").getAttribute("aria-expanded")).toBe("true");
  await waitFor(() => expect(inView("parameter:h.30.attn.c_proj.bias")).toBe(true));
});

test("a link to a missing node says so and opens no card", async () => {
  writeHash("p.gradgraph.sel=gone");
  show(chainRule());
  await drawn("leaf:x");
  await waitFor(() => expect(one("notice")?.textContent).toContain('This graph has no "gone".'));
  expect(one("card")).toBeNull();
});
