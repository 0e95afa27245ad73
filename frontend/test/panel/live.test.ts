import { expect, test } from "vitest";
import { flow, training, transformer, withFindings } from "../../fixtures/examples.mjs";
import { intactColumns, joinColumns } from "../../src/model/flow/flow_growth";
import { cadenceBefore, type RecordRef } from "../../src/model/recorded/run";
import { readHash, writeHash } from "../../src/panel/session/host";
import type { FixtureRun } from "../fixture";
import { press, settle, useStage, waitFor } from "../stage";

const stage = useStage();
const count = (): string | undefined => stage.one("step-count")?.textContent ?? undefined;
const upTo = (run: FixtureRun, steps: number): FixtureRun => ({ ...run, records: run.records.slice(0, steps) });

function showGrowing(run: FixtureRun): void {
  stage.options = { soonestMs: 30 };
  stage.show(run);
}

test("new steps come by themselves; step, selection, camera and the open card stay", async () => {
  const all = transformer(3, 6);
  writeHash("p.gradgraph.sel=h.1%230");
  showGrowing(upTo(all, 2));
  await stage.drawn("h.0#0");
  await waitFor(() => expect(stage.one("card")).not.toBeNull());
  await waitFor(() => expect(count()).toBe("2 of 2"));
  let camera: string | undefined;
  await waitFor(() => {
    const before = camera;
    camera = stage.one("canvas")!.dataset.camera;
    expect(camera).toBeDefined();
    expect(camera).toBe(before); // it has come to rest
  });
  const slider = (stage.one("slider") as HTMLInputElement).value;
  stage.runs = [all];
  await waitFor(() => expect(count()).toBe("2 of 6"));
  expect(stage.one("unseen")?.textContent).toBe("4 new");
  expect(stage.one("canvas")?.dataset.camera).toBe(camera);
  expect((stage.one("slider") as HTMLInputElement).value).toBe(slider);
  expect(stage.one("card")?.dataset.key).toBe("h.1#0");
  press("End");
  await waitFor(() => expect(stage.one("unseen")?.textContent).toBe(""));
});

test("open findings stay open when the runs are read again", async () => {
  const all = withFindings();
  showGrowing(upTo(all, 2));
  await stage.drawn("parameter:0.weight");
  await waitFor(() => expect(stage.one("findings")).not.toBeNull());
  stage.one("findings")!.click();
  await waitFor(() => expect(stage.one("finding-list")).not.toBeNull());
  stage.runs = [all];
  await waitFor(() => expect(count()).toBe("2 of 3"));
  await settle(50);
  expect(stage.one("finding-list")).not.toBeNull();
  // Who follows the latest step goes on reading.
  press("Escape");
  stage.one("follow")!.click();
  await waitFor(() => expect(count()).toBe("3 of 3"));
  stage.one("findings")!.click();
  await waitFor(() => expect(stage.one("finding-list")).not.toBeNull());
  stage.runs = [upTo(all, 2)];
  await waitFor(() => expect(count()).toBe("2 of 2"));
  await settle(50);
  expect(stage.one("finding-list")).not.toBeNull();
});

test("the latest step is followed on request; another step ends that; the link keeps it", async () => {
  const all = transformer(2, 8);
  showGrowing(upTo(all, 2));
  await waitFor(() => expect(count()).toBe("2 of 2"));
  press("Home");
  stage.one("follow")!.click();
  await waitFor(() => expect(count()).toBe("2 of 2"));
  await waitFor(() => expect(readHash()).toContain("p.gradgraph.follow=1"));
  expect(readHash()).not.toContain("p.gradgraph.step=");
  stage.runs = [upTo(all, 5)];
  await waitFor(() => expect(count()).toBe("5 of 5"));
  expect(stage.one("follow")?.getAttribute("aria-pressed")).toBe("true");
  press("ArrowLeft");
  await waitFor(() => expect(stage.one("follow")?.getAttribute("aria-pressed")).toBe("false"));
  stage.runs = [all];
  await waitFor(() => expect(count()).toBe("4 of 8"));
  press("l");
  await waitFor(() => expect(count()).toBe("8 of 8"));
});

test("while the numbers of a new step are loading, the card keeps those of the step before", async () => {
  const all = training();
  writeHash("p.gradgraph.follow=1&p.gradgraph.sel=parameter%3Aw");
  showGrowing(upTo(all, 6)); // the records of the first step
  await waitFor(() => expect(stage.one("weight")).not.toBeNull());
  const answering = window.fetch;
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  window.fetch = async (input, init) => {
    if (String(input).includes("/node?")) await held;
    return answering(input, init);
  };
  stage.runs = [all];
  await waitFor(() => expect((stage.one("step") as HTMLInputElement).value).toBe("20"));
  expect(stage.one("weight")).not.toBeNull();
  expect(stage.one("stages")).not.toBeNull();
  const before = stage.one("weight")!.textContent;
  release();
  await waitFor(() => expect(stage.one("weight")!.textContent).not.toBe(before));
  window.fetch = answering;
});

test("a link that follows opens at the last step, even of another run", async () => {
  writeHash("p.gradgraph.follow=1");
  const [one, other] = [upTo(transformer(2, 8), 3), { ...transformer(2, 8), run: "other" }];
  stage.options = { soonestMs: 30 };
  stage.show(one, other);
  await waitFor(() => expect(count()).toBe("3 of 3"));
  stage.choose("run", "other");
  await waitFor(() => expect(count()).toBe("8 of 8"));
  expect(stage.one("follow")?.getAttribute("aria-pressed")).toBe("true");
});

test("an empty log directory becomes a drawing when the first records arrive", async () => {
  stage.options = { soonestMs: 30 };
  stage.show();
  await waitFor(() => expect(stage.one("empty")).not.toBeNull());
  stage.runs = [transformer(2, 2)];
  await stage.drawn("h.0#0");
});

test("nothing is read again while nothing is new; a missing answer is reported once", async () => {
  showGrowing(transformer(2, 3));
  await stage.drawn("h.0#0");
  await waitFor(() => expect(stage.asked.filter((url) => url.includes("pulse")).length).toBeGreaterThan(2));
  await waitFor(() => {
    if (!stage.asked.every((url) => url.includes("pulse"))) stage.asked.length = 0; // the first answers are still read
    expect(stage.asked.length).toBeGreaterThan(3);
  });
  const answering = window.fetch;
  window.fetch = () => Promise.reject(new TypeError("refused"));
  await waitFor(() => expect(stage.one("unreachable")).not.toBeNull());
  expect(stage.one("notice")).toBeNull();
  window.fetch = answering;
  await waitFor(() => expect(stage.one("unreachable")).toBeNull());
});

test("the heat map asks only for new columns", async () => {
  const all = flow();
  writeHash("p.gradgraph.view=flow&p.gradgraph.step=20");
  showGrowing(upTo(all, 4));
  const columns = (): string | undefined => stage.one("flow-canvas")?.dataset.columns?.split(",")[3];
  await waitFor(() => expect(columns()).toBe("4"));
  stage.asked.length = 0;
  stage.runs = [upTo(all, 9)];
  await waitFor(() => expect(columns()).toBe("9"));
  const froms = stage.asked.filter((url) => url.includes("/flow?")).map((url) => new URL(url, "http://panel/").searchParams.get("from"));
  expect(froms).toEqual(["4"]);
  expect((stage.one("step") as HTMLInputElement).value).toBe("20");
});

const ref = (step: number, more: Partial<RecordRef> = {}): RecordRef => ({
  step,
  backwardPass: 0,
  stage: "backward",
  wallTime: step,
  hash: "h",
  objective: "",
  hasGradients: true,
  hasValues: false,
  lossScale: 1,
  skipped: false,
  everyNSteps: 10,
  cost: 0,
  ...more,
});

test("columns are valid up to the first step that was recorded again or got another record", () => {
  const before = [ref(0), ref(10), ref(20)];
  expect(intactColumns([0, 10, 20], before, [...before, ref(30)])).toBe(3);
  expect(intactColumns([0, 10, 20], before, [ref(0), ref(10, { wallTime: 99 }), ref(20, { wallTime: 100 })])).toBe(1);
  expect(intactColumns([0, 10, 20], before, [ref(0), ref(5), ref(10), ref(20)])).toBe(1);
  expect(intactColumns([0, 10, 20], before, [...before, ref(20, { stage: "applied" })])).toBe(2);
  expect(intactColumns([0, 10, 20], before, before.slice(0, 1))).toBe(1);
  const first = { steps: [0, 10], slots: 2, values: [Float32Array.of(1, 2, 3, 4)], arrived: Uint8Array.of(1, 1, 1, 1) };
  const second = { steps: [20], slots: 2, values: [Float32Array.of(5, 6)], arrived: Uint8Array.of(0, 2) };
  expect(joinColumns(first, 1, second)).toEqual({
    steps: [0, 20],
    slots: 2,
    values: [Float32Array.of(1, 2, 5, 6)],
    arrived: Uint8Array.of(1, 1, 0, 2),
  });
});

test("a changed cadence shows its former value", () => {
  const records = [ref(0), ref(10), ref(20, { everyNSteps: 20 }), ref(40, { everyNSteps: 20 })];
  expect(cadenceBefore(records, records[3]!)).toEqual({ everyNSteps: 10, until: 20 });
  expect(cadenceBefore(records, records[1]!)).toBeUndefined();
});
