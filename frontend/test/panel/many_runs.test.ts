// Many runs in the view of charts: which are drawn, their colors, zoom, outliers.

import { expect, test } from "vitest";
import { bothHalves } from "../../fixtures/halves.mjs";
import type { FixtureRun } from "../fixture";
import { readHash, writeHash } from "../../src/panel/session/host";
import { press, settle, useStage, waitFor } from "../stage";

const stage = useStage();
const { show, one } = stage;

const LRS = [0.001, 0.01, 0.1];

// Twenty runs of which each loss is the first one's, times 1 to 20; the one named "bad" grows to 1e40.
function sweep(count: number): readonly FixtureRun[] {
  return Array.from({ length: count }, (_, i): FixtureRun => {
    const name = i === 7 ? "bad" : `lr=${LRS[i % 3]},seed=${i}`;
    const run = bothHalves(name) as FixtureRun & { readonly quantities: Record<string, (number | undefined)[]> };
    const loss = run.quantities["loss"]!.map((value, at) => (value === undefined ? undefined : i === 7 ? 10 ** (5 * at) : value * (1 + i)));
    return { ...run, quantities: { ...run.quantities, loss } } as FixtureRun;
  });
}

const drawn = (): readonly string[] => one("charts")?.dataset.runs?.split("\n") ?? [];
const chart = (): HTMLElement => one("chart")!;
const LINK = "p.gradgraph.view=charts&p.gradgraph.chart.step=loss&p.gradgraph.chart.every=1";

test("all runs are drawn, later ones too; each can be taken away, and the link keeps that", async () => {
  writeHash("p.gradgraph.view=charts&p.gradgraph.chart.step=loss");
  show(...sweep(20));
  await waitFor(() => expect(drawn()).toHaveLength(1));
  for (const box of stage.place.querySelectorAll<HTMLInputElement>("[data-testid=over-run]")) box.click();
  await waitFor(() => expect(new Set(drawn()).size).toBe(20)); // none was dropped for another
  one("no-runs")!.click();
  await waitFor(() => expect(drawn()).toHaveLength(1));
  one("all-runs")!.click();
  await waitFor(() => expect(drawn()).toHaveLength(20));
  await waitFor(() => expect(readHash()).toContain("chart.every=1"));
  await waitFor(() =>
    expect(
      chart()
        .dataset.lines!.split("\n")
        .filter((line) => line !== "" && line !== "loss"),
    ).toHaveLength(20),
  );
  stage.place.querySelector<HTMLInputElement>("[data-run='lr=0.01,seed=1']")!.click();
  await waitFor(() => expect(drawn()).toHaveLength(19));
  expect(drawn()).not.toContain("lr=0.01,seed=1");
  await waitFor(() => expect(readHash()).not.toContain("chart.every"));
});

test("the filter finds runs, and adds only these", async () => {
  writeHash("p.gradgraph.view=charts&p.gradgraph.chart.step=loss");
  show(...sweep(20));
  await waitFor(() => expect(one("filter-runs")).not.toBeNull());
  const field = one("filter-runs") as HTMLInputElement;
  field.value = "LR=0.1,";
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await waitFor(() => expect(one("all-runs")!.textContent).toBe("Add these"));
  one("all-runs")!.click();
  await waitFor(() =>
    expect(
      drawn()
        .slice(1)
        .every((run) => run.startsWith("lr=0.1,")),
    ).toBe(true),
  );
  expect(drawn()).toHaveLength(7); // the shown one, and seeds 2, 5, 8, 11, 14, 17
});

test("one diverged run leaves the axis, which says so; switched off, the axis covers it", async () => {
  writeHash(LINK);
  show(...sweep(12));
  await waitFor(() => expect(one("outliers")?.dataset.lines).toBe("bad\n\nloss"));
  expect(one("outliers")!.textContent).toContain("bad reaches");
  one("ignore-outliers")!.click();
  await waitFor(() => expect(readHash()).toContain("chart.outliers=1"));
  expect((one("ignore-outliers") as HTMLInputElement).checked).toBe(false);
});

test("lines have the colors of a hyperparameter: of the names of runs, and of TensorBoard", async () => {
  writeHash(LINK);
  const runs = sweep(6).map((run, i) => ({ ...run, hparams: { width: i < 3 ? "narrow" : "wide" } }) as FixtureRun);
  show(...runs);
  await waitFor(() =>
    expect([...one("color-by")!.querySelectorAll("option")].map(({ value }) => value)).toEqual(["run", "tensor", "=lr", "=seed", "=width"]),
  );
  const colors = (): readonly string[] =>
    [...one("charts-lines")!.querySelectorAll("[data-line] path")].map((path) => path.getAttribute("stroke")!);
  await waitFor(() => expect(new Set(colors()).size).toBe(6));
  stage.choose("color-by", "=lr");
  await waitFor(() => expect(new Set(colors()).size).toBe(3));
  const levels = [...one("levels")!.querySelectorAll<HTMLElement>("li")].map(({ dataset }) => [dataset.value, dataset.color]);
  expect(levels.map(([value]) => value)).toEqual(["0.001", "0.01", "0.1"]);
  expect(colors()).toEqual(drawn().map((run) => levels.find(([value]) => run.startsWith(`lr=${value},`))![1]));
  stage.choose("color-by", "=width");
  await waitFor(() => expect(new Set(colors()).size).toBe(2));
  await waitFor(() => expect(decodeURIComponent(readHash())).toContain("chart.color==width"));
});

test("the shown run against the others: their median, least and greatest at each step", async () => {
  writeHash(`${LINK}&p.gradgraph.run=lr%3D0.001%2Cseed%3D0&p.gradgraph.step=1`);
  show(...sweep(6)); // losses at step 1: 8 times 1 to 6
  await waitFor(() => expect(one("grouped")).not.toBeNull());
  one("grouped")!.click();
  const values = (): readonly string[] =>
    [...one("charts-lines")!.querySelectorAll<HTMLElement>("[data-line]")].map(({ dataset }) => dataset.value!);
  await waitFor(() => expect(values()).toEqual(["8", "32", "48", "16"])); // of 16, 24, 32, 40, 48
  expect(one("charts-lines")!.textContent).toContain("median of 5 others");
  await waitFor(() => expect(readHash()).toContain("chart.group=1"));
});

const over = (): HTMLElement => chart().querySelector<HTMLElement>(".u-over")!;
const pointAt = (x: number, y: number): { clientX: number; clientY: number } => {
  const { left, top, width, height } = over().getBoundingClientRect();
  return { clientX: left + x * width, clientY: top + y * height };
};
const ready = (points: number): Promise<void> =>
  waitFor(() => {
    expect(chart().dataset.points).toBe(String(points));
    expect(over()).not.toBeNull();
  });
const shown = (axis: "x" | "y"): readonly number[] | undefined => chart().dataset[axis]?.split(" ").map(Number);

test("the wheel zooms around the pointer, a drag moves both axes, and a double click shows all", async () => {
  writeHash(LINK);
  show(...sweep(3));
  await ready(12);
  over().dispatchEvent(new WheelEvent("wheel", { deltaY: -250, bubbles: true, cancelable: true, ...pointAt(0.5, 0.5) }));
  await waitFor(() => expect(shown("x")).toBeDefined());
  const [low, high] = shown("x")!;
  expect((low! + high!) / 2).toBeCloseTo(1.5, 2); // of steps 0 to 3
  expect(high! - low!).toBeCloseTo(3 * Math.exp(-250 * 0.0016), 2);
  expect(shown("y")).toBeUndefined();
  const drag = (from: readonly [number, number], to: readonly [number, number], shiftKey = false): void => {
    over().dispatchEvent(new PointerEvent("pointerdown", { ...pointAt(...from), shiftKey, bubbles: true }));
    for (const type of ["pointermove", "pointerup"]) window.dispatchEvent(new PointerEvent(type, pointAt(...to)));
  };
  drag([0.5, 0.5], [0.6, 0.4]);
  await waitFor(() => expect(shown("y")).toBeDefined());
  expect(shown("x")![0]).toBeCloseTo(low! - 0.1 * (high! - low!), 2);
  expect(shown("x")![1]).toBeCloseTo(high! - 0.1 * (high! - low!), 2);
  await waitFor(() => expect(readHash()).toContain("chart.x="));
  over().dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
  await waitFor(() => expect([shown("x"), shown("y")]).toEqual([undefined, undefined]));
  await settle(0);
  drag([0.2, 0.2], [0.8, 0.8], true); // a box
  await waitFor(() => expect(shown("x")!.map((end) => Number(end.toFixed(6)))).toEqual([0.5, 2.5])); // not narrower than two steps
  one("zoom-reset")!.click();
  await waitFor(() => expect(shown("x")).toBeUndefined());
});

test("keys zoom and move a chart that has the focus; elsewhere arrows still go through the steps", async () => {
  writeHash(`${LINK}&p.gradgraph.step=2`);
  show(...sweep(3));
  await ready(12);
  chart().focus();
  press("+", chart());
  await waitFor(() => expect(shown("x")).toBeDefined());
  const before = shown("x")!;
  press("ArrowRight", chart());
  await waitFor(() => expect(shown("x")![0]).toBeGreaterThan(before[0]!));
  press("PageUp", chart());
  await waitFor(() => expect(shown("y")).toBeDefined());
  expect((one("step") as HTMLInputElement).value).toBe("2");
  press("0", chart());
  await waitFor(() => expect([shown("x"), shown("y")]).toEqual([undefined, undefined]));
  press("ArrowRight", chart()); // not zoomed: the next step
  await waitFor(() => expect((one("step") as HTMLInputElement).value).toBe("3"));
});

test("the end of a drag is not a click: the step stays", async () => {
  writeHash(`${LINK}&p.gradgraph.step=2&p.gradgraph.chart.x=0%202`);
  show(...sweep(2));
  await ready(8);
  over().dispatchEvent(new PointerEvent("pointerdown", { ...pointAt(0.3, 0.5), bubbles: true }));
  for (const type of ["pointermove", "pointerup"]) window.dispatchEvent(new PointerEvent(type, pointAt(0.2, 0.5)));
  over().dispatchEvent(new MouseEvent("click", { ...pointAt(0.2, 0.5), bubbles: true }));
  await waitFor(() => expect(shown("x")![0]).toBeGreaterThan(0));
  expect((one("step") as HTMLInputElement).value).toBe("2");
});

test("a browser whose language is none, such as C, draws charts", async () => {
  const language = navigator.language;
  Object.defineProperty(navigator, "language", { value: "C", configurable: true });
  try {
    expect(() => new Intl.NumberFormat(navigator.language)).toThrow(RangeError);
    writeHash(LINK);
    show(...sweep(1));
    await waitFor(() => expect(over()).not.toBeNull());
    expect(new Intl.NumberFormat(navigator.language).format(1)).toBe("1");
  } finally {
    Object.defineProperty(navigator, "language", { value: language, configurable: true });
  }
});
