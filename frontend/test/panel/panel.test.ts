import { afterEach, beforeEach, expect, test } from "vitest";
import { chainRule, hostile, HOSTILE, marks, states, transformer, twoStructures, withoutGradients } from "../../fixtures/examples.mjs";
import { rgbOf } from "../../src/draw/style/element_colors";
import { LIGHT } from "../../src/draw/style/theme";
import { mount } from "../../src/panel/mount";
import { readHash, writeHash } from "../../src/panel/session/host";
import { serveFixtures, type FixtureRun } from "../fixture";
import "../kept_workers";
import { waitFor } from "../stage";

let runs: readonly FixtureRun[] = [];
let failing: string | undefined;
let place: HTMLElement;
let unmount: () => void = () => undefined;
let unserve: () => void = () => undefined;

beforeEach(() => {
  failing = undefined;
  unserve = serveFixtures(
    () => runs,
    () => failing,
  );
  place = document.createElement("div");
  place.style.height = "700px";
  document.body.append(place);
  writeHash("");
});

afterEach(() => {
  unmount();
  unserve();
  place.remove();
});

function show(...shown: readonly FixtureRun[]): void {
  runs = shown;
  unmount = mount(place, { base: "./fixture/" });
}

const one = (id: string): HTMLElement | null => place.querySelector(`[data-testid="${id}"]`);
const item = (key: string): HTMLElement => {
  const found = [...place.querySelectorAll<HTMLElement>("[role=treeitem]")].find((li) => li.dataset.key === key);
  if (found === undefined) throw new Error(`no ${key}`);
  return found;
};
const drawn = (key: string): Promise<void> => waitFor(() => expect(item(key).dataset.state).not.toBe("none"));
const press = (key: string, shiftKey = false): boolean =>
  document.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey, bubbles: true, cancelable: true }));

function choose(id: string, value: string): void {
  const control = one(id) as HTMLSelectElement;
  control.value = value;
  control.dispatchEvent(new Event("change", { bubbles: true }));
}

function pixelOf(canvas: HTMLCanvasElement, x: number, y: number): number[] {
  return [...canvas.getContext("2d")!.getImageData(x, y, 1, 1).data.subarray(0, 3)];
}

test("the chain rule: values, gradients and both shares are in the tree", async () => {
  show(chainRule());
  await drawn("leaf:x");
  expect(item("leaf:x").dataset).toMatchObject({ name: "x", kind: "leaf", grad: "4", wholeValue: "3", state: "number" });
  expect(item("/AddBackward0.0").dataset).toMatchObject({ grad: "-4", operation: "AddBackward0" });
  expect(item("constant:2").dataset).toMatchObject({ state: "none", value: "none" });
  const shares = [...place.querySelectorAll<HTMLElement>("[data-testid=edges] li")].filter((li) => li.dataset.source === "leaf:x");
  expect(shares.map((li) => li.dataset.grad)).toEqual(["-4", "8"]);
});

test("selecting shows the card: facts, arrays, shares with their sum, chart; Escape closes it", async () => {
  show(chainRule());
  await drawn("leaf:x");
  item("leaf:x").click();
  await waitFor(() => expect(one("histogram")).not.toBeNull());
  expect(one("chart")).toBeNull(); // a line over one step says nothing
  expect(one("marks")?.dataset).toMatchObject({ leaf: "true", requiresGrad: "true", retainsGrad: "false" });
  expect(one("whole-gradient")?.dataset.whole).toBe("4");
  const shares = [...place.querySelectorAll<HTMLElement>("[data-share]")].map((row) => row.dataset.share);
  expect([shares, place.querySelector<HTMLElement>("[data-sum]")?.dataset.sum]).toEqual([["-4", "8"], "4"]);
  expect(item("leaf:x").getAttribute("aria-selected")).toBe("true");
  const link = one("consumers")?.querySelector<HTMLElement>("[data-key='/AddBackward0.0']");
  link?.click();
  await waitFor(() => expect(one("card")?.dataset.key).toBe("/AddBackward0.0"));
  press("Escape");
  await waitFor(() => expect(one("card")).toBeNull());
});

test("the card says why there is no gradient, and draws a large array as a picture", async () => {
  show(marks());
  await drawn("parameter:b");
  const reasons: [string, string, string][] = [
    ["parameter:a", "note", "Cut off from the loss by detach (net.py:7 in forward)."],
    ["/detach.0", "note", "The gradient stops here."],
    ["/detach.0", "why", "None: detach passes on no gradient."],
    ["/MmBackward0.0", "why", "None: this backward did not reach it."],
  ];
  for (const [key, id, sentence] of reasons) {
    item(key).click();
    await waitFor(() => expect([one("card")?.dataset.key, one(id)?.textContent]).toEqual([key, sentence]));
  }
  item("parameter:b").click();
  await waitFor(() =>
    expect(one("whole-gradient")?.dataset).toMatchObject({ elements: "48", columns: "8", rows: "6", reach: "2.6", nonfinite: "1" }),
  );
  const canvas = one("whole-gradient")!.querySelector("canvas")!;
  await waitFor(() => expect(pixelOf(canvas, 7, 5)).toEqual(rgbOf(LIGHT.nonfinite)));
  expect(pixelOf(canvas, 4, 2)).toEqual(rgbOf(LIGHT.elements[1])); // element 20 is zero
  expect(pixelOf(canvas, 6, 5)).toEqual(rgbOf(LIGHT.elements[2])); // and 46 the greatest
  const { left, top, width, height } = canvas.getBoundingClientRect();
  canvas.dispatchEvent(
    new PointerEvent("pointermove", { clientX: left + 1 + (width - 2) / 16, clientY: top + 1 + (height - 2) / 12, bubbles: true }),
  );
  await waitFor(() => expect(one("whole-gradient-pointed")?.textContent).toBe("[0, 0] = −2"));
});

test("marks are explained in the legend if the graph has them", async () => {
  show(marks());
  await drawn("parameter:b");
  await waitFor(() => expect(one("signs")?.textContent).toBe("second orderretains gradcut"));
  expect(item("/MulBackward0.0").dataset).toMatchObject({ order: "2", retains: "false", leaf: "false" });
  expect(item("/MmBackward0.1").dataset).toMatchObject({ order: "1", retains: "true" });
  const cuts = [...place.querySelectorAll<HTMLElement>("[data-testid=edges] li[data-cut=true]")];
  expect(cuts.map(({ dataset }) => [dataset.source, dataset.target])).toEqual([["/MmBackward0.0", "/detach.0"]]);
});

test("steps with NaN or infinity are ticked over the slider", async () => {
  show(states());
  await drawn("parameter:lin.weight");
  await waitFor(() => expect(one("bad-steps")?.dataset.steps).toBe("10"));
  expect(one("bad-steps")?.querySelectorAll("i")).toHaveLength(1);
});

test("steps with NaN have ticks, whichever graph of the tag is shown", async () => {
  show(twoStructures([0, 1, 3]));
  await drawn("/TanhBackward0.0");
  const ticks = (): string | undefined => one("bad-steps")?.dataset.steps;
  await waitFor(() => expect(ticks()).toBe("0,1,3"));
  choose("hash", "0001");
  await waitFor(() => expect(() => item("/TanhBackward0.0")).toThrow());
  expect(ticks()).toBe("0,1,3");
});

test("stepping recolors without a new layout, quickly; keys move the step", async () => {
  const blocks = "#0~repeat:h.0#0";
  show(transformer(12, 50));
  await drawn(blocks);
  performance.clearMeasures();
  const rects = item(blocks).dataset.rect;
  const colors = new Set<string | undefined>();
  press("Home");
  for (const expected of ["0", "1", "11", "10"]) {
    await waitFor(() => expect((one("step") as HTMLInputElement).value).toBe(expected));
    await waitFor(() => colors.add(item(blocks).dataset.value));
    await new Promise((resolve) => setTimeout(resolve, 60));
    colors.add(item(blocks).dataset.value);
    if (expected === "0") press("ArrowRight");
    if (expected === "1") press("ArrowRight", true);
    if (expected === "11") press("ArrowLeft");
  }
  expect(colors.size).toBeGreaterThanOrEqual(4);
  expect(item(blocks).dataset.rect).toBe(rects);
  expect(performance.getEntriesByName("gradgraph:layout")).toHaveLength(0);
  const recolors = performance.getEntriesByName("gradgraph:recolor").map(({ duration }) => duration);
  expect(Math.max(...recolors)).toBeLessThan(50);
});

test("NaN, zero, missing: three colors of their own; the run's warning is shown", async () => {
  show(states());
  await drawn("parameter:lin.weight");
  press("ArrowLeft");
  await waitFor(() => expect(item("lin#0/MmBackward0.0").dataset.state).toBe("nonfinite"));
  const colors = ["lin#0/MmBackward0.0", "#0/ReluBackward0.0", "lin#1/MmBackward0.0", "parameter:lin.weight"].map(
    (key) => item(key).dataset.color,
  );
  expect(new Set(colors).size).toBe(4);
  expect(one("warnings")?.textContent).toContain("A chunk could not be read.");
});

test("groups close and open; the statistic and the direction change the texts", async () => {
  show(states());
  await drawn("parameter:lin.weight");
  item("lin#1").dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
  await waitFor(() => expect(item("lin#1").getAttribute("aria-expanded")).toBe("false"));
  expect(() => item("lin#1/MmBackward0.0")).toThrow();
  one("expand-all")?.click();
  await waitFor(() => expect(item("lin#1").getAttribute("aria-expanded")).toBe("true"));
  choose("statistic", "zero_fraction");
  await waitFor(() => expect(one("legend")?.dataset.high).toBe("1"));
  one("direction-forward")?.click();
  await waitFor(() => expect(place.querySelector<HTMLElement>("[data-testid=edges] li")?.dataset.label).toBe("[4, 3]"));
});

// Where the middle of a box is in the window, from what the tree and the canvas tell.
function pointOf(key: string): { clientX: number; clientY: number } {
  const canvas = one("canvas")!;
  const [x, y, width, height] = item(key).dataset.rect!.split(",").map(Number);
  const [left, top, k] = canvas.dataset.camera!.split(",").map(Number);
  const frame = canvas.getBoundingClientRect();
  return { clientX: frame.x + left! + (x! + width! / 2) * k!, clientY: frame.y + top! + (y! + Math.min(height!, 24) / 2) * k! };
}

test("the canvas: a click selects, a double click opens, the pointer shows a tooltip", async () => {
  show(states());
  await drawn("parameter:lin.weight");
  await waitFor(() => expect(one("canvas")?.dataset.camera).toBeDefined());
  const canvas = one("canvas")!;
  const send = (type: string, key: string): boolean =>
    canvas.dispatchEvent(new PointerEvent(type, { ...pointOf(key), bubbles: true, cancelable: true }));
  send("click", "lin#0/MmBackward0.0");
  await waitFor(() => expect(one("card")?.dataset.key).toBe("lin#0/MmBackward0.0"));
  await waitFor(() => expect(one("chart")).not.toBeNull());
  send("pointermove", "parameter:lin.weight");
  await waitFor(() => expect(place.querySelector("[role=tooltip]")?.textContent).toContain("lin.weight"));
  send("dblclick", "lin#2");
  await waitFor(() => expect(item("lin#2").getAttribute("aria-expanded")).toBe("false"));
});

test("finding a node opens the groups around it and selects it", async () => {
  show(transformer(12, 2));
  await drawn("#0~repeat:h.0#0");
  const find = one("find") as HTMLInputElement;
  find.value = "h.7.attn.c_proj.bias";
  find.dispatchEvent(new Event("input", { bubbles: true }));
  await waitFor(() => expect(one("found")?.querySelector("[data-key='parameter:h.7.attn.c_proj.bias']")).toBeInstanceOf(Element));
  find.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  await waitFor(() => expect(item("parameter:h.7.attn.c_proj.bias").getAttribute("aria-selected")).toBe("true"));
  expect(item("h.7.attn#0").getAttribute("aria-expanded")).toBe("true");
});

test("the view is in the address, and an address opens the view", async () => {
  writeHash("other=1&p.gradgraph.run=states&p.gradgraph.step=10&p.gradgraph.stat=mean&p.gradgraph.dir=forward&p.gradgraph.sel=lin%231");
  show(chainRule(), states());
  await waitFor(() => expect(one("card")?.dataset.key).toBe("lin#1"));
  expect((one("run") as HTMLSelectElement).value).toBe("states");
  expect((one("step") as HTMLInputElement).value).toBe("10");
  expect((one("statistic") as HTMLSelectElement).value).toBe("mean");
  choose("run", "chain_rule");
  await waitFor(() => expect(readHash()).toContain("p.gradgraph.run=chain_rule"));
  expect(readHash()).toContain("other=1");
});

test("a reload by TensorBoard brings new steps and moves nothing", async () => {
  const ports: MessagePort[] = [];
  const hear = (event: MessageEvent): void => {
    if (event.data === "experimental.bootstrap" && event.ports[0] !== undefined) ports.push(event.ports[0]);
  };
  window.parent.addEventListener("message", hear);
  const few = transformer(3, 4);
  show({ ...few, records: few.records.slice(0, 2) });
  await drawn("h.0#0");
  await waitFor(() => expect(one("step-count")?.textContent).toBe("2 of 2"));
  press("ArrowLeft");
  await waitFor(() => expect(ports).toHaveLength(1));
  await waitFor(() => expect(one("canvas")?.dataset.camera).toBeDefined());
  const camera = one("canvas")?.dataset.camera;
  runs = [few];
  ports[0]!.postMessage(JSON.stringify({ type: "experimental.DataReloaded", id: 1, payload: null, error: null, isReply: false }));
  await waitFor(() => expect(one("step-count")?.textContent).toBe("1 of 4"));
  expect((one("step") as HTMLInputElement).value).toBe("0");
  expect(one("canvas")?.dataset.camera).toBe(camera);
  press("End");
  await waitFor(() => expect(one("step-count")?.textContent).toBe("4 of 4"));
  runs = [transformer(3, 6)];
  ports[0]!.postMessage(JSON.stringify({ type: "experimental.DataReloaded", id: 2, payload: null, error: null, isReply: false }));
  await waitFor(() => expect(one("step-count")?.textContent).toBe("4 of 6"));
  expect(one("unseen")?.textContent).toBe("2 new");
  expect(one("canvas")?.dataset.camera).toBe(camera);
  window.parent.removeEventListener("message", hear);
});

test("the theme follows TensorBoard's", async () => {
  const { classList } = window.parent.document.body;
  show(chainRule());
  await drawn("leaf:x");
  const light = item("leaf:x").dataset.color;
  classList.add("dark-mode");
  await waitFor(() => expect(one("panel")?.dataset.theme).toBe("dark"));
  expect(item("leaf:x").dataset.color).not.toBe(light);
  classList.remove("dark-mode");
  await waitFor(() => expect(one("panel")?.dataset.theme).toBe("light"));
});

test("a frame without height, as TensorBoard hides tabs, breaks nothing", async () => {
  place.style.height = "0";
  show(chainRule());
  await drawn("leaf:x");
  expect(one("canvas")?.dataset.camera).toBeUndefined();
  place.style.height = "700px";
  await waitFor(() => expect(one("canvas")?.dataset.camera).toMatch(/^-?[\d.]+,-?[\d.]+,[\d.]+$/));
});

test("playing continues to the end and stops there", async () => {
  show(transformer(2, 5));
  await drawn("h.0#0");
  one("play")?.click();
  await waitFor(() => expect((one("step") as HTMLInputElement).value).toBe("0"));
  await waitFor(() => expect(one("play")?.getAttribute("aria-label")).toBe("Pause"));
  await waitFor(() => expect(one("play")?.getAttribute("aria-label")).toBe("Play"));
  expect((one("step") as HTMLInputElement).value).toBe("4");
});

test("opening more than can be shown is refused with a message", async () => {
  show(transformer(700, 1));
  await drawn("root:loss");
  one("expand-all")?.click();
  await waitFor(() => expect(one("notice")?.textContent).toMatch(/as many groups as fit in 10,000 boxes; [\d,]+ groups stay closed/));
});

test("an empty log directory says which lines to add", async () => {
  show();
  await waitFor(() => expect(one("empty")?.textContent).toContain("writer.watch(model, optimizer=optimizer)"));
});

test("an error shows the server's message, with a button to try again", async () => {
  failing = "There is no run 'x'; known are 'a' and 'b'.";
  show(chainRule());
  await waitFor(() => expect(one("error")?.textContent).toContain("There is no run 'x'"));
  failing = undefined;
  one("retry")?.click();
  await drawn("leaf:x");
});

test("a graph without gradients says so", async () => {
  show(withoutGradients());
  await waitFor(() => expect(one("no-gradients")?.textContent).toContain("No backward has run"));
  await waitFor(() => expect(item("leaf:x").dataset.value).toBe("none"));
});

test("names are text, never markup", async () => {
  show(hostile());
  await drawn(`parameter:${HOSTILE}`);
  item(`parameter:${HOSTILE}`).click();
  await waitFor(() => expect(one("note")?.textContent).toBe(HOSTILE));
  expect(place.querySelectorAll("img")).toHaveLength(0);
  expect("hacked" in window).toBe(false);
});

test("every control has a name", async () => {
  show(states());
  await drawn("parameter:lin.weight");
  for (const control of place.querySelectorAll<HTMLElement>("button, select, input, [role=tree], [role=img]")) {
    const label = control.getAttribute("aria-label") ?? control.closest("label")?.textContent ?? control.textContent;
    expect(label?.trim()).not.toBe("");
  }
});

test("another run with another graph opens as if it were the first one", async () => {
  const other = states();
  show(chainRule(), other);
  await drawn("leaf:x");
  item("leaf:x").click();
  await waitFor(() => expect(one("card")).not.toBeNull());
  choose("run", other.run);
  await waitFor(() => expect(place.querySelectorAll("[role=treeitem]").length).toBeGreaterThan(2));
  await waitFor(() => expect(one("card")).toBeNull());
});
