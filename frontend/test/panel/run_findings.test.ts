import { afterEach, beforeEach, expect, test } from "vitest";
import { chainRule } from "../../fixtures/examples.mjs";
import { faulty, grown, healthy } from "../../fixtures/trainings.mjs";
import { readHash, writeHash } from "../../src/panel/session/host";
import { settle, useStage, waitFor } from "../stage";

const stage = useStage();
const { one } = stage;
const KEPT = "gradgraph.findings";
beforeEach(() => localStorage.removeItem(KEPT));
afterEach(() => localStorage.removeItem(KEPT));

const rows = (): readonly HTMLElement[] => [...one("verdict")!.querySelectorAll<HTMLElement>("[data-testid=run-finding]")];
const kinds = (): readonly (string | undefined)[] => rows().map(({ dataset }) => dataset.kind);
const buttonIn = (kind: string, id: string): HTMLElement =>
  rows()
    .find(({ dataset }) => dataset.kind === kind)!
    .querySelector<HTMLElement>(id)!;
const dismiss = (kind: string): void => buttonIn(kind, "[data-testid=on-purpose]").click();
const lanes = (): readonly (string | undefined)[] => [...one("lanes")!.querySelectorAll("button")].map(({ dataset }) => dataset.kind);

async function open(run: ReturnType<typeof faulty>): Promise<void> {
  stage.show(run);
  await waitFor(() => expect(one("verdict")).not.toBeNull());
}

// The panel is opened again, as by a later visit.
async function again(run: ReturnType<typeof faulty>): Promise<void> {
  await settle(300); // the address is written
  stage.show(run);
  await waitFor(() => expect(one("lanes")).not.toBeNull());
}

test("a healthy training says so in a sentence, once", async () => {
  await open(healthy());
  expect(one("verdict")!.textContent).toBe("Nothing looks wrong in 10 recorded steps.");
  expect([one("verdict")!.dataset.healthy, one("findings"), one("lanes")]).toEqual(["true", null, null]);
  one("verdict-close")!.click();
  await waitFor(() => expect(one("verdict")).toBeNull());
  stage.show(healthy());
  await waitFor(() => expect(stage.keys().length).toBeGreaterThan(0));
  await settle(200);
  expect(one("verdict")).toBeNull();
});

test("a training opens with its first three findings; the button counts errors and warnings", async () => {
  await open(faulty());
  expect(kinds()).toEqual(["nonfinite", "loss_rising", "no_gradient"]);
  expect(rows()[0]!.textContent).toContain("<b>up.weight</b>"); // a name is never markup
  expect(rows()[0]!.querySelector("b")).toBeNull();
  expect(rows().map((row) => row.querySelector(".when")!.textContent)).toEqual(["step 30", "steps 50–90", "steps 0–90"]);
  expect(rows()[1]!.querySelector("svg")!.getAttribute("aria-label")).toBe("loss: 1 at step 0, 10 at step 90");
  expect(one("findings")!.textContent).toBe("4 findings");
  one("more-causes")!.click();
  await waitFor(() => expect(kinds()).toEqual(["nonfinite", "loss_rising", "no_gradient", "dead_units"]));
});

test("a finding leads to its step, its node and its card", async () => {
  await open(faulty());
  buttonIn("nonfinite", ".go").click();
  await waitFor(() => expect((one("step") as HTMLInputElement).value).toBe("30"));
  await waitFor(() => expect(one("card")?.dataset.key).toBe("parameter:up.weight"));
});

test("without a node it leads to its module, and without that to its step alone", async () => {
  await open(faulty());
  one("more-causes")!.click();
  await waitFor(() => expect(rows().length).toBe(4));
  buttonIn("dead_units", ".go").click();
  await waitFor(() => expect(one("card")?.dataset.key).toBe("down#0"));
  buttonIn("loss_rising", ".go").click();
  await waitFor(() => expect((one("step") as HTMLInputElement).value).toBe("50"));
  expect(one("card")!.dataset.key).toBe("down#0");
});

test("lanes below the slider show what from when to when, and lead there", async () => {
  await open(faulty());
  const bars = [...one("lanes")!.querySelectorAll("button")];
  expect(bars.map(({ dataset: { kind, from, to } }) => [kind, from, to])).toEqual([
    ["nonfinite", "30", "30"],
    ["loss_rising", "50", "90"],
    ["no_gradient", "0", "90"],
    ["dead_units", "70", "80"],
  ]);
  expect(bars[0]!.title).toBe("A gradient holds NaN: <b>up.weight</b>. (step 30)");
  const track = one("slider")!.getBoundingClientRect();
  const middle = bars[0]!.getBoundingClientRect();
  expect((middle.left + middle.right) / 2).toBeCloseTo(track.left + 8 + (track.width - 16) / 3, 0);
  bars[0]!.click();
  await waitFor(() => expect(one("card")?.dataset.key).toBe("parameter:up.weight"));
});

test("what is on purpose is not counted, and that can be taken back", async () => {
  await open(faulty());
  dismiss("no_gradient");
  await waitFor(() => expect(one("findings")!.textContent).toBe("3 findings"));
  expect(kinds()).toEqual(["nonfinite", "loss_rising", "dead_units"]);
  expect(lanes()).toEqual(["nonfinite", "loss_rising", "dead_units"]);
  expect(one("purposed")!.textContent).toBe("1 on purpose Undo");
  one("findings")!.click();
  await waitFor(() => expect(one("purposed-list")!.textContent).toContain("up.bias is frozen."));
  one("undo-last")!.click();
  await waitFor(() => expect(one("findings")!.textContent).toBe("4 findings"));
  expect(one("purposed")).toBeNull();
});

test("where all is on purpose, nothing else looks wrong", async () => {
  await open(faulty());
  for (const kind of ["nonfinite", "loss_rising", "no_gradient", "dead_units"]) {
    await waitFor(() => expect(kinds()).toContain(kind));
    dismiss(kind);
  }
  await waitFor(() => expect(one("verdict")!.textContent).toContain("Nothing else looks wrong in 10 recorded steps."));
  expect([one("findings")!.textContent, one("lanes")]).toEqual(["notes", null]);
});

test("the browser keeps what is on purpose", async () => {
  await open(faulty());
  dismiss("no_gradient");
  await settle(300);
  writeHash("");
  await again(faulty());
  await waitFor(() => expect(one("findings")!.textContent).toBe("3 findings"));
});

test("the link keeps it too, without the browser", async () => {
  await open(faulty());
  dismiss("no_gradient");
  await waitFor(() => expect(decodeURIComponent(readHash())).toContain("purpose=no_gradient parameter:up.bias"));
  localStorage.removeItem(KEPT);
  await again(faulty());
  await waitFor(() => expect(one("findings")!.textContent).toBe("3 findings"));
});

test("color is for news: after a look at the list it is gone, and it comes back with a new finding", async () => {
  const look = (): readonly string[] => [...one("findings")!.classList];
  await open(faulty());
  expect(look()).toContain("severity-error");
  one("findings")!.click();
  await waitFor(() => expect(look()).toContain("severity-note"));
  one("verdict-close")!.click();
  await again(faulty());
  await waitFor(() => expect(one("findings")?.textContent).toBe("4 findings"));
  expect([look().includes("severity-note"), one("verdict")]).toEqual([true, null]);
  await again(grown());
  await waitFor(() => expect(one("findings")!.textContent).toBe("5 findings"));
  expect(look()).toContain("severity-error");
  expect(one("verdict")).not.toBeNull();
});

test("what the browser keeps may be anything", async () => {
  localStorage.setItem(KEPT, JSON.stringify({ "faulty\nnet\n1700000000": { purposed: "x", seen: [1, null] } }));
  await open(faulty());
  expect(kinds().length).toBe(3);
});

test("another run has its own findings, and one without an answer has none", async () => {
  stage.show(faulty(), healthy(), chainRule());
  await waitFor(() => expect(one("lanes")).not.toBeNull());
  stage.choose("run", "healthy");
  await waitFor(() => expect(one("verdict")?.textContent).toContain("Nothing looks wrong"));
  stage.choose("run", chainRule().run);
  await waitFor(() => expect(one("verdict")).toBeNull());
  await waitFor(() => expect(stage.asked.some((url) => url.includes("run_findings") && url.includes(chainRule().run))).toBe(true));
  expect([one("lanes"), one("verdict")]).toEqual([null, null]);
});

test("while a training runs, new findings are counted, and what was said stays", async () => {
  stage.options = { soonestMs: 30 };
  await open(faulty());
  dismiss("no_gradient");
  one("verdict-close")!.click();
  await waitFor(() => expect([...one("findings")!.classList]).toContain("severity-note"));
  stage.runs = [grown()];
  await waitFor(() => expect(one("findings")!.textContent).toBe("4 findings"));
  expect([...one("findings")!.classList]).toContain("severity-error");
  expect(one("verdict")).toBeNull(); // nothing moves while one looks
  expect(lanes()).toContain("gradient_spike");
});

test("a link that is opened later adds what is on purpose", async () => {
  await open(faulty());
  await settle(300);
  window.parent.location.hash = `${readHash()}&p.gradgraph.purpose=${encodeURIComponent("loss_rising loss")}`;
  await waitFor(() => expect(one("findings")!.textContent).toBe("3 findings"));
  expect(kinds()).toEqual(["nonfinite", "no_gradient", "dead_units"]);
});
