// A selection in the heat map: by a drag or by keys; its table, what is done with it, and its link.

import { expect, test } from "vitest";
import { flow, hostile, HOSTILE } from "../../fixtures/examples.mjs";
import { readHash, writeHash } from "../../src/panel/session/host";
import { press, useStage, waitFor } from "../stage";

const stage = useStage();
const table = (): HTMLElement => {
  const found = stage.one("flow-area");
  if (found === null) throw new Error("no table");
  return found;
};
const lines = (): readonly HTMLElement[] => [...table().querySelectorAll<HTMLElement>("tbody tr")];
const keys = (): readonly string[] => lines().map(({ dataset }) => dataset.key!);
const canvas = (): HTMLCanvasElement => stage.one("flow-canvas") as HTMLCanvasElement;

async function show(run = flow(), hash = ""): Promise<void> {
  writeHash(`p.gradgraph.view=flow&p.gradgraph.step=20${hash}`);
  stage.show(run);
  await waitFor(() => expect(Number(canvas().dataset.columns?.split(",")[3] ?? 0)).toBeGreaterThan(0));
}

function middle(column: number, row: number): { clientX: number; clientY: number } {
  const [[from, , wide], [top, , high], [, mapTop]] = ["columns", "rows", "map"].map((name) =>
    canvas().dataset[name]!.split(",").map(Number),
  ) as [number[], number[], number[]];
  const { left, top: y } = canvas().getBoundingClientRect();
  return { clientX: left + (column + 0.5 - from!) * wide!, clientY: y + mapTop! + (row + 0.5 - top!) * high! };
}

function drag(from: object, to: object): void {
  for (const [type, at] of [
    ["pointerdown", from],
    ["pointermove", to],
    ["pointerup", to],
  ] as const)
    canvas().dispatchEvent(new PointerEvent(type, { bubbles: true, ...at }));
}

test("a drag over cells selects them; the table has each row once, without headings of open modules", async () => {
  await show();
  drag(middle(2, 1), middle(4, 6)); // from up#0 to down.weight
  await waitFor(() =>
    expect(keys()).toEqual(["parameter:up.weight", "parameter:up.bias", "up#0/AddmmBackward0.0", "parameter:down.weight"]),
  );
  expect([table().dataset.from, table().dataset.to]).toEqual(["20", "40"]);
  // 0.01, NaN and zero: the median of the two numbers, and NaN at step 30.
  expect(lines()[0]!.textContent).toBe("up.weight0.005–step 30");
  expect(lines()[1]!.textContent).toBe("up.bias–––");
  expect(lines()[3]!.textContent).toContain("×0.01"); // a decade in ten steps, over twenty
  lines()[0]!.querySelector<HTMLElement>(".bad")!.click();
  await waitFor(() => expect((stage.one("step") as HTMLInputElement).value).toBe("30"));
});

test("the table is sorted by its headings, and both are in the link; Escape ends the selection", async () => {
  await show(flow(), "&p.gradgraph.flow.area=20%3A40%0Aparameter%3Aup.weight%0Aparameter%3Adown.weight&p.gradgraph.flow.table=median.down");
  await waitFor(() => expect(lines().length).toBe(4));
  const medians = (): readonly number[] => lines().map(({ dataset }) => Number(dataset.median));
  const numbers = medians().filter((one) => !Number.isNaN(one));
  expect(numbers).toEqual([...numbers].sort((a, b) => b - a));
  expect(Number.isNaN(medians().at(-1))).toBe(true);
  stage.one("area-by-bad")!.click();
  await waitFor(() => expect(keys()[0]).toBe("parameter:up.weight"));
  expect(stage.one("area-by-bad")!.closest("th")!.getAttribute("aria-sort")).toBe("ascending");
  await waitFor(() => expect(readHash()).toContain("p.gradgraph.flow.table=bad.up"));
  press("Escape");
  await waitFor(() => expect(stage.one("flow-area")).toBeNull());
  await waitFor(() => expect(readHash()).not.toContain("flow.area"));
});

test("keys select from the cursor; the steps of the selection can be shown alone", async () => {
  await show(flow(), "&p.gradgraph.sel=parameter%3Aup.weight");
  await waitFor(() => expect(stage.place.querySelector("[role=row][aria-selected=true]")).not.toBeNull());
  press("a");
  for (const key of ["ArrowDown", "ArrowDown", ...new Array<string>(7).fill("ArrowRight")]) press(key);
  await waitFor(() => expect(table().dataset.to).toBe("90"));
  expect([table().dataset.from, table().dataset.rows]).toEqual(["20", "3"]);
  press("a");
  press("ArrowDown"); // no longer part of it
  await waitFor(() => expect(stage.place.querySelector("[role=row][aria-selected=true]")!.getAttribute("data-key")).toBe("down#0"));
  expect(table().dataset.rows).toBe("3");
  stage.one("area-zoom")!.click();
  await waitFor(() => expect(canvas().dataset.columns!.split(",").slice(0, 2)).toEqual(["2", "10"]));
  press("a");
  await waitFor(() => expect(stage.one("flow-area")).toBeNull());
});

test("what is not in the shown graph selects nothing, and names are never markup", async () => {
  await show(
    flow(),
    "&p.gradgraph.flow.area=x%3A40%0A%3Cb%3E%0Aparameter%3Adown.weight&p.gradgraph.flow.sort=%3Cb%3E.down&p.gradgraph.flow.pins=%3Cb%3E",
  );
  expect(stage.one("flow-area")).toBeNull();
  expect(stage.place.querySelector("[data-pinned]")).toBeNull();
  expect((stage.one("flow-order") as HTMLSelectElement).value).toBe("depth");
  await show(hostile());
  const count = Number(canvas().dataset.rows!.split(",")[3]);
  drag(middle(0, 0), middle(0, count - 1));
  await waitFor(() => expect(table().textContent).toContain(HOSTILE.slice(0, 10)));
  expect(stage.place.querySelector("img, script")).toBeNull();
});
