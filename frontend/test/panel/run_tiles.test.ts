// Heat maps of many runs beside each other: layers aligned, one scale, sorted by a number of the step.

import { expect, test } from "vitest";
import { one, two } from "../../fixtures/compared.mjs";
import { bothHalves } from "../../fixtures/halves.mjs";
import { LIGHT } from "../../src/draw/style/theme";
import { alignedLayers, layersOf, magnitudesOfAll, sortedByLast } from "../../src/model/charts/run_layers";
import { readHash, writeHash } from "../../src/panel/session/host";
import { flowOf, type FixtureRun } from "../fixture";
import { useStage, waitFor } from "../stage";

const stage = useStage();
const { show, one: find } = stage;

test("a layer is the innermost module around parameters; its number is that of its contents", () => {
  const layers = layersOf(flowOf(one()));
  expect(layers.ids).toEqual(["up#0", "gate#0", "down#0"]);
  // Weights have 3 * (step + 1), which is more than what their layers put out; "down" is twice that.
  expect([...layers.value]).toEqual([3, 6, 9, 12, 3, 6, 9, 12, 6, 12, 18, 24]);
});

test("layers of different models are aligned, in the order that each of them has", () => {
  expect(
    alignedLayers([
      ["up", "gate", "down"],
      ["up", "mid", "down"],
      ["down", "end"],
    ]),
  ).toEqual(["up", "mid", "gate", "down", "end"]);
  expect(alignedLayers([])).toEqual([]);
  expect(alignedLayers([["b"], ["a", "b"]])).toEqual(["a", "b"]);
});

test("the scale is that of all runs together; a diverged run does not stretch it, nor one number in a hundred", () => {
  const layer = (numbers: readonly number[]) => ({
    ids: ["a"],
    steps: numbers.map((_, i) => i),
    every: 1,
    value: Float32Array.from(numbers),
    state: Uint8Array.from(numbers, (number) => (number === 0 ? 2 : 3)),
  });
  const many = Array.from({ length: 200 }, (_, i) => 1 + (i % 100));
  const diverged = Array.from({ length: 200 }, (_, i) => 10 ** (i / 6));
  const found = magnitudesOfAll([layer(many), layer(many), layer(diverged), layer([...many, 0])])!;
  expect(found.domain[0]).toBe(1);
  expect(found.domain[1] / 10 ** (199 / 6)).toBeCloseTo(1, 5);
  expect(found.fences.map((end) => Number(end.toPrecision(6)))).toEqual([2, 99]);
  expect(magnitudesOfAll([layer([0])])).toBeUndefined();
});

test("runs are sorted by their last number: diverged ones at the end, then those without it", () => {
  const last: Record<string, number | undefined> = { a: NaN, b: 3, c: undefined, d: 1, e: Infinity, f: 2 };
  expect(sortedByLast(Object.keys(last), (run) => last[run])).toEqual(["d", "f", "b", "a", "e", "c"]);
});

const tiles = (): readonly HTMLElement[] => [...stage.place.querySelectorAll<HTMLElement>("[data-testid=tile]")];
const canvasOf = (run: string): HTMLCanvasElement =>
  tiles()
    .find(({ dataset }) => dataset.run === run)!
    .querySelector("canvas")!;

// The middle of a cell, where `columns` are those of the longest run.
function cellAt(run: string, row: number, rows: number, column: number, columns: number) {
  const { left, top, width, height } = canvasOf(run).getBoundingClientRect();
  return { x: left + ((column + 0.5) / columns) * width, y: top + ((row + 0.5) / rows) * height };
}

function pixelAt(run: string, ...place: [number, number, number, number]): string {
  const canvas = canvasOf(run);
  const { left, top, width, height } = canvas.getBoundingClientRect();
  const { x, y } = cellAt(run, ...place);
  const at = [((x - left) / width) * canvas.width, ((y - top) / height) * canvas.height].map(Math.floor) as [number, number];
  const [red, green, blue] = canvas.getContext("2d")!.getImageData(...at, 1, 1).data;
  return `#${[red, green, blue].map((part) => part!.toString(16).padStart(2, "0")).join("")}`;
}

test("all runs beside each other: equal numbers have equal colors, NaN its own; a click shows the run at the step", async () => {
  writeHash("p.gradgraph.view=charts&p.gradgraph.run=one&p.gradgraph.step=3&p.gradgraph.chart.as=layers");
  show(one(), two());
  await waitFor(() => expect(canvasOf("two").dataset.drawn).toBeDefined());
  await waitFor(() => expect(find("layers")!.dataset).toMatchObject({ ready: "2", layers: "up#0\nmid#0\ngate#0\ndown#0" }));
  await waitFor(() => expect(pixelAt("two", 0, 4, 0, 4)).toBe(pixelAt("one", 3, 4, 3, 4))); // both 24
  expect(pixelAt("two", 0, 4, 2, 4)).not.toBe(pixelAt("two", 0, 4, 0, 4)); // 120
  expect(pixelAt("two", 0, 4, 1, 4)).toBe(LIGHT.nonfinite);
  expect(pixelAt("one", 1, 4, 1, 4)).toBe(LIGHT.background); // it has no such layer
  const { x, y } = cellAt("two", 0, 4, 2, 4);
  canvasOf("two").dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, bubbles: true }));
  await waitFor(() => expect(find("layers-said")!.textContent).toBe("two: up#0, step 4: 120"));
  canvasOf("two").dispatchEvent(new MouseEvent("click", { clientX: x, clientY: y, bubbles: true }));
  await waitFor(() => expect((find("run") as HTMLSelectElement).value).toBe("two"));
  await waitFor(() => expect((find("step") as HTMLInputElement).value).toBe("4"));
});

test("up to 24 runs, sorted by the last loss or another number, which the link keeps", async () => {
  writeHash("p.gradgraph.view=charts");
  const order = [3, 1, 2];
  const many = Array.from({ length: 30 }, (_, i): FixtureRun => bothHalves(`run${i}`, { factor: order[i] ?? i + 1 }) as FixtureRun);
  show(...many);
  await waitFor(() => expect(find("as-layers")).not.toBeNull());
  find("as-layers")!.click();
  await waitFor(() => expect(tiles()).toHaveLength(24));
  const byLoss = ["run1", "run2", "run0", ...Array.from({ length: 21 }, (_, i) => `run${i + 3}`)];
  await waitFor(() => expect(tiles().map(({ dataset }) => dataset.run)).toEqual(byLoss));
  expect(tiles()[0]!.textContent).toContain("loss 32");
  expect(find("layers-said")!.textContent).toContain("24 of 30 runs.");
  await waitFor(() => expect(find("layers")!.dataset.ready).toBe("24"));
  stage.choose("sort-runs", "name");
  await waitFor(() => expect(tiles()[0]!.dataset.run).toBe("run0"));
  await waitFor(() => expect(readHash()).toContain("chart.sort=name"));
  find("as-lines")!.click();
  await waitFor(() => expect(find("chart")).not.toBeNull());
});
