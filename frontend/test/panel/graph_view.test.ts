import { expect, test } from "vitest";
import { activations, recurrent, reshaped, transformer } from "../../fixtures/examples.mjs";
import { smallFor, worldAt } from "../../src/draw/camera/paint_minimap";
import { paintFarTitles } from "../../src/draw/graph/level_of_detail";
import { textScale } from "../../src/draw/graph/paint_text";
import { stripRect } from "../../src/draw/scene/paint_strip";
import type { SceneBox } from "../../src/draw/scene/scene";
import { LIGHT } from "../../src/draw/style/theme";
import { readHash } from "../../src/panel/session/host";
import { press, useStage, waitFor } from "../stage";

const stage = useStage();
const { one, item } = stage;
const BLOCKS = "#0~repeat:h.0#0";

// The middle of a block's cell, on the canvas.
function cellPoint(key: string, block: number, count: number): { x: number; y: number } {
  const [x, y, width, height] = item(key).dataset.rect!.split(",").map(Number);
  const strip = stripRect({ x: x!, y: y!, width: width!, height: height! - 6 });
  const camera = stage.camera();
  return {
    x: camera.x + (strip.x + ((block + 0.5) / count) * strip.width) * camera.k,
    y: camera.y + (strip.y + strip.height / 2) * camera.k,
  };
}

const line = (folded: string): HTMLElement | undefined =>
  [...(one("edges")?.querySelectorAll<HTMLElement>("li") ?? [])].find(({ dataset }) => dataset.folded === folded);

test("a cell of the strip selects its hidden block; a double click opens the row there", async () => {
  stage.show(transformer(12, 3));
  await stage.drawn(BLOCKS);
  await waitFor(() => expect(one("canvas")?.dataset.camera).toBeDefined());
  const boxes = stage.keys().length;
  stage.click(cellPoint(BLOCKS, 7, 12), "pointermove");
  await waitFor(() => expect(stage.place.querySelector("[role=tooltip]")?.textContent).toContain("A double click opens the row there."));
  stage.click(cellPoint(BLOCKS, 7, 12));
  await waitFor(() => expect(one("card")?.dataset.key).toBe("h.7#0"));
  expect(stage.keys()).toHaveLength(boxes);
  expect(one("breadcrumbs")?.textContent).toBe("GPT›h.0 … h.11›h.7");
  stage.click(cellPoint(BLOCKS, 7, 12), "dblclick");
  await waitFor(() => expect(item("h.7#0").getAttribute("aria-selected")).toBe("true"));
  expect(item(BLOCKS).getAttribute("aria-expanded")).toBe("true");
});

test("the card of a hidden block opens the groups around it too; a breadcrumb goes back out", async () => {
  stage.show(transformer(12, 3));
  await stage.drawn(BLOCKS);
  await waitFor(() => expect(one("canvas")?.dataset.camera).toBeDefined());
  stage.click(cellPoint(BLOCKS, 2, 12));
  await waitFor(() => expect(one("toggle")?.textContent).toContain("Open"));
  one("toggle")?.click();
  await waitFor(() => expect(item("h.2.attn#0")).toBeDefined());
  one("breadcrumbs")?.querySelector<HTMLElement>(`[data-key="${BLOCKS}"]`)?.click();
  await waitFor(() => expect(one("card")?.dataset.key).toBe(BLOCKS));
});

test("a step changes the box of the strip and moves nothing", async () => {
  stage.show(recurrent(2000, 3));
  const run = "#0~repeat:cell#0";
  await stage.drawn(run);
  const rect = item(run).dataset.rect;
  stage.choose("statistic", "std");
  await waitFor(() => expect(item(run).dataset.state).toBe("unknown"));
  press("Home");
  await waitFor(() => expect((one("step") as HTMLInputElement).value).toBe("0"));
  expect(item(run).dataset.rect).toBe(rect);
  expect(stage.keys().length).toBeLessThan(10);
});

test("the mark of a folded chain opens it; a double click on one of its operations folds it again", async () => {
  stage.show(reshaped());
  await stage.drawn("#0/SoftmaxBackward0.0");
  await waitFor(() => expect(one("canvas")?.dataset.camera).toBeDefined());
  expect(stage.keys()).not.toContain("#0/ViewBackward0.0");
  const [x, y] = line("view → transpose")!.dataset.mark!.split(",").map(Number);
  const { x: left, y: top, k } = stage.camera();
  stage.click({ x: left + x! * k, y: top + y! * k });
  await waitFor(() => expect(stage.keys()).toContain("#0/ViewBackward0.0"));
  expect(stage.keys()).toContain("#0/TransposeBackward0.0");
  expect(line("view → transpose")).toBeUndefined();
  expect(line("t")).toBeDefined();
  item("#0/TransposeBackward0.0").dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
  await waitFor(() => expect(line("view → transpose")).toBeDefined());
});

test("a node that is found inside a folded chain is shown", async () => {
  stage.show(reshaped());
  await stage.drawn("#0/SoftmaxBackward0.0");
  await stage.find("transpose", "#0/TransposeBackward0.0");
  await waitFor(() => expect(item("#0/TransposeBackward0.0").getAttribute("aria-selected")).toBe("true"));
});

test("a resting pointer lights the path to the loss and back to the leaves", async () => {
  stage.show(reshaped());
  await stage.drawn("#0/TanhBackward0.0");
  await waitFor(() => expect(one("canvas")?.dataset.camera).toBeDefined());
  stage.click(stage.middleOf("parameter:lin.weight"), "pointermove");
  await waitFor(() => expect(one("canvas")?.dataset.lit).toContain("root:out"));
  expect(one("canvas")?.dataset.lit?.split("\n")).not.toContain("input:x");
  stage.click(stage.middleOf("root:out"), "pointermove");
  await waitFor(() => expect(one("canvas")?.dataset.lit?.split("\n")).toContain("input:x"));
  stage.click({ x: 2, y: 300 }, "pointermove");
  await waitFor(() => expect(one("canvas")?.dataset.lit).toBe(""));
});

test("the minimap is shown if the drawing does not fit, and a click on it goes there", async () => {
  stage.show(reshaped());
  await stage.drawn("#0/TanhBackward0.0");
  await waitFor(() => expect(one("canvas")?.dataset.camera).toBeDefined());
  press("v"); // in one column the output is at the lower end
  await waitFor(() => expect(readHash()).toContain("gradgraph.columns=1"));
  one("fit")?.click();
  await waitFor(() => expect(one("minimap")?.hidden).toBe(true));
  for (let i = 0; i < 6; i++) press("+");
  await waitFor(() => expect(one("minimap")?.hidden).toBe(false));
  const small = one("minimap")!;
  const { left, top, width, height } = small.getBoundingClientRect();
  small.setPointerCapture = () => undefined; // a made-up pointer cannot be captured
  small.dispatchEvent(new PointerEvent("pointerdown", { clientX: left + width / 2, clientY: top + height - 7, bubbles: true, buttons: 1 }));
  await waitFor(() => {
    const { y } = stage.middleOf("root:out");
    const canvas = one("canvas")!;
    expect(Math.abs(y - canvas.clientHeight / 2)).toBeLessThan(200);
  });
});

test("a point of the minimap corresponds to a point of the drawing", () => {
  const bounds = { x: -50, y: 20, width: 400, height: 4000 };
  const view = { width: 900, height: 600 };
  expect(smallFor(bounds, { x: 450, y: 0, k: 0.1 }, view)).toBeUndefined();
  const small = smallFor(bounds, { x: 0, y: 0, k: 1 }, view)!;
  expect(worldAt(small, { x: small.x + 150 * small.k, y: small.y + 1234 * small.k })).toEqual({
    x: expect.closeTo(150),
    y: expect.closeTo(1234),
  });
  expect(small.size.height).toBeLessThanOrEqual(190);
});

test("text is as it was laid out where it can be read, and never smaller than that on the screen", () => {
  for (const zoom of [0.25, 0.5, 0.84, 1, 3]) expect(12 * textScale(zoom) * zoom).toBeGreaterThanOrEqual(10);
  expect(textScale(0.84)).toBe(1);
  expect(textScale(3)).toBe(1);
});

test("titles of open groups do not overlap far away; outer ones have priority", () => {
  const context = document.createElement("canvas").getContext("2d")!;
  const written: string[] = [];
  context.fillText = (text) => void written.push(text);
  const frame = (title: string, x: number, y: number, width: number, height: number): SceneBox =>
    ({ id: title, title, rectWorld: { x, y, width, height }, shape: "frame", depth: 0 }) as unknown as SceneBox;
  paintFarTitles(
    context,
    [
      frame("Net", 0, 0, 4000, 4000),
      frame("hidden", 20, 20, 3900, 1800),
      frame("below", 20, 2000, 3900, 1800),
      frame("tiny", 20, 3000, 60, 40),
    ],
    LIGHT,
    0.1,
  );
  expect(written).toEqual(["Net", "below"]);
});

test("a parameter is a row in the box of the operation that uses it, and is selected, linked and found like a box", async () => {
  stage.show(transformer(2, 1));
  await stage.drawn("root:loss");
  const weight = stage.keys().find((key) => key.startsWith("parameter:") && item(key).dataset.within !== undefined)!;
  const rect = (key: string): readonly number[] => item(key).dataset.rect!.split(",").map(Number);
  const holder = item(weight).dataset.within!;
  const [x, y, width, height] = rect(weight);
  const [left, top, wide, high] = rect(holder);
  expect([x! > left!, y! > top!, x! + width! < left! + wide!, y! + height! < top! + high!]).toEqual([true, true, true, true]);
  await waitFor(() => expect(one("canvas")?.dataset.camera).toBeDefined());
  stage.click(stage.middleOf(weight));
  await waitFor(() => expect(one("card")?.dataset.key).toBe(weight));
  await waitFor(() => expect(readHash()).toContain(encodeURIComponent(weight)));
  expect(one("edges")!.querySelector(`[data-source="${weight}"]`)!.getAttribute("data-target")).toBe(holder);
});

test("an activation is a row in the box of its layer, selected like a box; A gives it a box of its own, which the link keeps", async () => {
  const [layer, sigmoid] = ["0#0/MmBackward0.0", "1#0/SigmoidBackward0.0"];
  stage.show(activations());
  await stage.drawn("root:out");
  await waitFor(() => expect(item(sigmoid).dataset.state).toBe("number"));
  expect(item(sigmoid).dataset.within).toBe(layer);
  const rect = (key: string): readonly number[] => item(key).dataset.rect!.split(",").map(Number);
  const [x, y, width, height] = rect(sigmoid);
  const [left, top, wide, high] = rect(layer);
  expect([x! > left!, y! > top!, x! + width! < left! + wide!, y! + height! < top! + high!]).toEqual([true, true, true, true]);
  await waitFor(() => expect(one("canvas")?.dataset.camera).toBeDefined());
  stage.click(stage.middleOf(sigmoid));
  await waitFor(() => expect(one("card")?.dataset.key).toBe(sigmoid));
  press("a");
  await waitFor(() => expect(item(sigmoid).dataset.within).toBeUndefined());
  expect(rect(sigmoid)[1]!).toBeGreaterThan(rect(layer)[1]! + rect(layer)[3]!);
  await waitFor(() => expect(readHash()).toContain("gradgraph.apart=1"));
  one("apart")!.click();
  await waitFor(() => expect(item(sigmoid).dataset.within).toBe(layer));
  await waitFor(() => expect(readHash()).not.toContain("apart="));
});

test("V draws the graph in one column and back, and the link keeps that", async () => {
  stage.show(transformer(3, 1));
  await stage.drawn("root:loss");
  const height = (): number => Math.max(...stage.keys().map((key) => Number(item(key).dataset.rect!.split(",")[1])));
  const broken = height();
  press("v");
  await waitFor(() => expect(height()).toBeGreaterThan(1.5 * broken));
  await waitFor(() => expect(readHash()).toContain("gradgraph.columns=1"));
  one("one-column")!.click();
  await waitFor(() => expect(height()).toBe(broken));
  await waitFor(() => expect(readHash()).not.toContain("columns="));
});
