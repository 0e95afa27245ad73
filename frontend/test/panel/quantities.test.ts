// Numbers of the step as a whole: in charts, and above the heat map.

import { expect, test } from "vitest";
import { flow, training } from "../../fixtures/examples.mjs";
import { bothHalves, NOTED } from "../../fixtures/halves.mjs";
import { atPass, quantityMeaning } from "../../src/model/flow/scalar_line";
import { readHash, writeHash } from "../../src/panel/session/host";
import { useStage, waitFor } from "../stage";

const stage = useStage();
const { show, one, choose } = stage;

const optionsOf = (id: string): readonly string[] => [...one(id)!.querySelectorAll("option")].map(({ value }) => value);
const lines = (): readonly string[] =>
  [...(one("charts-lines")?.querySelectorAll<HTMLElement>("[data-quantity]") ?? [])].map(
    (li) => `${li.dataset.quantity} ${li.querySelector<HTMLElement>("[data-line]")?.dataset.value}`,
  );

test("one number a step: of the shown pass, or of the last one before it", () => {
  const quantity = { steps: [0, 0, 1, 2, 2], backwardPasses: [0, 1, 0, 1, 2], values: [1, 2, 3, 4, 5] };
  expect(atPass(quantity, 0)).toEqual({ steps: [0, 1, 2], values: [1, 3, 4] });
  expect(atPass(quantity, 1)).toEqual({ steps: [0, 1, 2], values: [2, 3, 4] });
  expect(atPass(quantity, 9)).toEqual({ steps: [0, 1, 2], values: [2, 3, 5] });
});

test("a term of the loss is explained as it enters the loss", () => {
  expect(quantityMeaning("loss/size")).toBe("loss/size: as it enters the loss, with its weight in the sum");
  expect(quantityMeaning("loss")).toBe("loss, a number of the step as a whole");
});

test("any of them can be added to the charts, removed, and taken along in a link", async () => {
  writeHash("p.gradgraph.view=charts&p.gradgraph.step=1");
  show(bothHalves());
  // At first the loss and the norm of all gradients are drawn.
  const norm = `grad_norm/backward ${Number(Math.sqrt(40).toPrecision(6))}`;
  await waitFor(() => expect(lines()).toEqual(["loss 8", norm]));
  expect(readHash()).not.toContain("chart.step");
  one("charts-lines")!.querySelector<HTMLElement>('[data-quantity="grad_norm/backward"] [data-testid=unpin]')!.click();
  await waitFor(() => expect(lines()).toEqual(["loss 8"]));
  one("charts-lines")!.querySelector<HTMLElement>("[data-quantity=loss] [data-testid=unpin]")!.click();
  await waitFor(() => expect(one("nothing-pinned")).not.toBeNull());
  await waitFor(() => expect(optionsOf("add-quantity").slice(0, 5)).toEqual(["", "grad_norm/backward", "loss", "lr/0", NOTED]));
  const missing = one("add-quantity")!.querySelector<HTMLOptionElement>("option[disabled]")!;
  expect(missing.textContent).toBe("noise_scale: one micro-batch a step");
  expect((one("add-quantity") as HTMLSelectElement).selectedOptions[0]!.textContent).toBe("Add a number of the step…");
  choose("add-quantity", "loss");
  await waitFor(() => expect(lines()).toEqual(["loss 8"]));
  expect(one("chart")!.dataset.log).toBe("false"); // 2 to 32
  choose("add-quantity", "lr/0");
  await waitFor(() => expect(lines()).toEqual(["loss 8", "lr/0 0.05"]));
  expect(one("chart")!.dataset.log).toBe("true"); // 0.025 to 32
  await waitFor(() => expect(readHash()).toContain(`p.gradgraph.chart.step=${encodeURIComponent("loss\nlr/0")}`));
  one("charts-lines")!.querySelector<HTMLElement>("[data-quantity=loss] [data-testid=unpin]")!.click();
  await waitFor(() => expect(lines()).toEqual(["lr/0 0.05"]));
});

test("a name is text, and a NaN is marked", async () => {
  writeHash(`p.gradgraph.view=charts&p.gradgraph.step=2&p.gradgraph.chart.step=${encodeURIComponent(NOTED)}`);
  show(bothHalves());
  await waitFor(() => expect(lines()).toEqual([`${NOTED} NaN`]));
  expect(one("charts-lines")!.textContent).toContain(NOTED);
  expect(stage.place.querySelector("img")).toBeNull();
  expect(one("chart")!.dataset.nonfinite).toBe("1");
});

test("beside tensors, and over other runs; a run that lacks one says so", async () => {
  writeHash(
    `p.gradgraph.view=charts&p.gradgraph.step=1&p.gradgraph.chart.step=loss&p.gradgraph.chart.pins=${encodeURIComponent("parameter:blocks.0.weight:0")}`,
  );
  show(bothHalves(), bothHalves("twice", { factor: 2 }));
  await waitFor(() => expect(one("chart")!.dataset.points).toBe("8"));
  one("over-run")!.click();
  const numbers = (): readonly (string | undefined)[] =>
    [...one("charts-lines")!.querySelectorAll<HTMLElement>("[data-line]")].map(({ dataset }) => dataset.value);
  await waitFor(() => expect(numbers()).toEqual(["2.82843", "2.82843", "8", "32"]));
});

test("a run without any offers none", async () => {
  writeHash("p.gradgraph.view=charts");
  show(training());
  await waitFor(() => expect(one("nothing-pinned")).not.toBeNull());
  expect(one("add-quantity")).toBeNull();
});

test("the recorded loss is above the heat map unless a scalar is logged; any number of the step can be", async () => {
  writeHash("p.gradgraph.view=flow&p.gradgraph.step=1");
  show(bothHalves());
  await waitFor(() => expect((one("scalar") as HTMLSelectElement).value).toBe("step:loss"));
  await waitFor(() => expect(one("scalar-value")!.textContent).toBe("8"));
  choose("scalar", `step:${NOTED}`);
  await waitFor(() => expect(one("scalar-value")!.textContent).toBe("1"));
  expect(optionsOf("scalar").at(-1)).toBe("");
  await waitFor(() => expect(readHash()).toContain("p.gradgraph.scalar=step"));
  choose("scalar", "");
  await waitFor(() => expect(one("scalar-value")).toBeNull());
});

test("a logged loss comes first", async () => {
  writeHash("p.gradgraph.view=flow");
  show(flow());
  await waitFor(() => expect((one("scalar") as HTMLSelectElement).value).toBe("train/loss"));
});
