// Lists that drop down, the chart's axis, lines that can be chosen, and modules that are one operation.

import { expect, test } from "vitest";
import { activations, chainRule, flow, states, transformer, twoStructures, withFindings } from "../../fixtures/examples.mjs";
import { press, settle, useStage, waitFor } from "../stage";

const stage = useStage();
const { show, one, item, drawn, choose } = stage;
const expanded = (id: string): string | null | undefined => one(id)?.getAttribute("aria-expanded");
const inList = (): HTMLElement[] => [...one("finding-list")!.querySelectorAll<HTMLElement>("button")];

async function openFindings(): Promise<void> {
  await waitFor(() => expect(one("findings")).not.toBeNull());
  if (expanded("findings") !== "true") one("findings")?.click();
  await waitFor(() => expect(expanded("findings")).toBe("true"));
}

test("the findings close on Escape, on a press outside, and on a choice, and stay open at another step", async () => {
  show(withFindings());
  await drawn("parameter:0.weight");
  const closings = [
    () => press("Escape"),
    () => one("canvas")?.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true })),
    () => one("finding-list")?.querySelector<HTMLElement>("[data-key='2#0/TanhBackward0.0']")?.click(),
  ];
  for (const close of closings) {
    await openFindings();
    close();
    await waitFor(() => expect([expanded("findings"), one("finding-list")]).toEqual(["false", null]));
  }
  await waitFor(() => expect(one("card")?.dataset.key).toBe("2#0/TanhBackward0.0"));
  expect(document.activeElement).toBe(one("findings")); // which had been in the list
  await openFindings();
  press("ArrowLeft");
  await settle(50);
  expect(expanded("findings")).toBe("true");
  press("Escape");
  await waitFor(() => expect(expanded("findings")).toBe("false"));
  expect(one("card")).not.toBeNull(); // Escape closed the list and not what is behind it
});

test("findings: the worst first, many of a kind behind a button, arrow keys move through them", async () => {
  show(withFindings());
  await drawn("parameter:0.weight");
  await openFindings();
  await waitFor(() =>
    expect(inList().map(({ textContent }) => textContent)).toEqual([
      "NaN begins here.",
      "Unit 0 is dead.",
      "Unit 1 is dead.",
      "Unit 2 is dead.",
      "3 more like these",
      "It is cut.",
    ]),
  );
  // Opened as by a key: a click of no pointer.
  await waitFor(() => expect(document.activeElement).toBe(inList()[0]));
  press("ArrowDown", document.activeElement!);
  expect(document.activeElement).toBe(inList()[1]);
  press("ArrowUp", document.activeElement!);
  press("ArrowUp", document.activeElement!);
  expect(document.activeElement).toBe(inList()[0]);
  one("more-findings")?.click();
  await waitFor(() => expect(inList()).toHaveLength(8));
  const note = inList().at(-1)!.querySelector("i")!;
  expect(note.getBoundingClientRect().height).toBe(8); // a dot, whatever else is called a note
});

test("findings of other steps are listed if the shown one has none, with links to them", async () => {
  const first = chainRule().records[0]!;
  const two = { ...chainRule(), records: [first, { ...first, step: first.step + 5 }] };
  show({ ...two, elsewhere: [{ step: first.step, backward_pass: 0, count: 2, text: "The rate is too high." }] });
  await openFindings();
  expect(one("findings")?.textContent).toContain("findings elsewhere");
  expect(one("findings-elsewhere")?.textContent).toBe(`First at step ${first.step}: The rate is too high. And 1 more.`);
  one("findings-elsewhere")?.querySelector("button")?.click();
  await waitFor(() => expect((one("step") as HTMLInputElement | null)?.value).toBe(String(first.step)));
});

test("findings that begin at other steps are told in words, each with a link to its step", async () => {
  const finding = { severity: "warning", kind: "vanishing", text: "It vanishes.", row: 0, node: "", advice: "Try a residual." } as const;
  const other = { backward_pass: 0, text: "It explodes." };
  const elsewhere = [
    { ...other, step: 41, count: 1 },
    { ...other, step: 60, count: 3 },
  ];
  show({ ...chainRule(), findings: [finding], elsewhere });
  await openFindings();
  expect(one("finding-list")!.querySelector(".advice")!.textContent).toBe("Try a residual.");
  expect([...one("findings-elsewhere")!.querySelectorAll("button")].map(({ textContent }) => textContent)).toEqual([
    "First at step 41: It explodes.",
    "First at step 60: It explodes. And 2 more.",
  ]);
});

test("Find lists full paths and is moved through by arrow keys", async () => {
  show(transformer(3, 1));
  await drawn("h.0#0");
  const find = one("find") as HTMLInputElement;
  find.value = "attn";
  find.dispatchEvent(new Event("input", { bubbles: true }));
  const options = (): HTMLElement[] => [...(one("found")?.querySelectorAll<HTMLElement>("[role=option]") ?? [])];
  await waitFor(() => expect(options().length).toBeGreaterThan(6));
  expect(new Set(options().map(({ textContent }) => textContent)).size).toBe(options().length);
  expect(options()[0]?.textContent).toBe("attn Attentionh.0.attn");
  press("ArrowDown", find);
  await waitFor(() => expect(options()[1]?.getAttribute("aria-selected")).toBe("true"));
  expect(find.getAttribute("aria-activedescendant")).toBe(options()[1]?.id);
  const { key } = options()[1]!.dataset;
  press("Enter", find);
  await waitFor(() => expect(one("card")?.dataset.key).toBe(key));
  expect(one("found")).toBeNull();
});

test("Find steps through the results in a circle", async () => {
  show(transformer(3, 1));
  await drawn("h.0#0");
  const find = one("find") as HTMLInputElement;
  find.value = "softmax";
  find.dispatchEvent(new Event("input", { bubbles: true }));
  await waitFor(() => expect(one("found")).not.toBeNull());
  const there = (block: number): Promise<void> =>
    waitFor(() => {
      expect(one("card")?.dataset.key).toBe(`h.${block}.attn#0/SoftmaxBackward0.0`);
      expect(one("find-place")?.textContent).toBe(`${block + 1} of 3`);
    });
  press("Enter", find);
  await there(0);
  press("Enter", find);
  await there(1);
  one("find-next")?.click();
  await there(2);
  one("find-next")?.click();
  await there(0);
  find.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", shiftKey: true, bubbles: true }));
  await there(2);
});

test("a chart of a signed statistic starts linear, and names magnitudes where it is logarithmic; a share has no logarithm", async () => {
  show(states());
  await drawn("parameter:lin.weight");
  item("parameter:lin.weight").click();
  await waitFor(() => expect(one("chart")?.dataset).toMatchObject({ log: "true", axis: "" }));
  choose("statistic", "mean");
  await waitFor(() => expect(one("chart")?.dataset).toMatchObject({ log: "false", axis: "" }));
  one("log-scale")?.click();
  await waitFor(() => expect(one("chart")?.dataset).toMatchObject({ log: "true", axis: "|mean|" }));
  choose("statistic", "zero_fraction");
  await waitFor(() => expect(one("chart")?.dataset).toMatchObject({ log: "false", axis: "" }));
  expect(one("log-scale")).toBeNull();
});

test("a click on a line shows the gradient along it; Escape closes the card", async () => {
  show(chainRule());
  await drawn("leaf:x");
  await waitFor(() => expect(one("canvas")?.dataset.camera).toBeDefined());
  const from = stage.middleOf("/PowBackward0.0");
  const to = stage.middleOf("/SubBackward0.0");
  const middle = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
  stage.click(middle);
  await waitFor(() => expect(one("card")?.dataset.key).toBe("edge"));
  expect(one("card")?.querySelector("h2")?.textContent).toBe("sub → pow");
  expect(one("card")?.querySelector("[data-fact=gradient]")?.textContent).toBe("−4");
  expect(one("edge-share")?.textContent).toContain("The whole gradient");
  press("Escape");
  await waitFor(() => expect(one("card")).toBeNull());
  stage.click(middle);
  await waitFor(() => expect(one("card")?.dataset.key).toBe("edge"));
  item("leaf:x").click();
  await waitFor(() => expect(one("card")?.dataset.key).toBe("leaf:x"));
});

test("a tooltip disappears when the drawing moves under the pointer", async () => {
  show(chainRule());
  await drawn("leaf:x");
  await waitFor(() => expect(one("canvas")?.dataset.camera).toBeDefined());
  stage.click(stage.middleOf("leaf:x"), "pointermove");
  await waitFor(() => expect(stage.place.querySelector("[role=tooltip]")).not.toBeNull());
  one("zoom-in")?.click();
  await waitFor(() => expect(stage.place.querySelector("[role=tooltip]")).toBeNull());
});

test("edges show the chosen statistic of their own row; for a single element, the element with its sign", async () => {
  const labels = (source: string): (string | undefined)[] =>
    [...stage.place.querySelectorAll<HTMLElement>("[data-testid=edges] li")]
      .filter((li) => li.dataset.source === source)
      .map((li) => li.dataset.label);
  show(chainRule(), activations());
  await drawn("leaf:x");
  expect(labels("leaf:x")).toEqual(["−4", "8"]);
  choose("statistic", "zero_fraction");
  await waitFor(() => expect(labels("leaf:x")).toEqual(["0", "0"]));
  choose("statistic", "l2_norm");
  choose("run", "activations");
  await drawn("1#0/SigmoidBackward0.0");
  await waitFor(() => expect(labels("1#0/SigmoidBackward0.0")).toEqual(["5"])); // of 2.5 four times
});

test("the list of lines distinguishes a gradient that was not recorded from none", async () => {
  const said = (source: string): readonly string[] =>
    [...stage.place.querySelectorAll<HTMLElement>("[data-testid=edges] li")]
      .filter((li) => li.dataset.source === source)
      .map(({ textContent }) => textContent);
  show({ ...flow(), records: flow().records.map((record) => ({ ...record, everyNSteps: 10 })) });
  await drawn("parameter:down.weight");
  one("expand-all")?.click();
  await waitFor(() => expect(said("#0/ReluBackward0.0")).toEqual(["The gradient that addmm gives relu was not recorded"]));
  expect(said("input:x")).toEqual(["addmm gives x no gradient"]);
  expect(said("parameter:up.weight")).toEqual(["addmm gives weight a gradient of 1e−9"]);
});

test("a module with one operation is one box with both names, until it is opened", async () => {
  show(activations());
  await drawn("1#0/SigmoidBackward0.0");
  expect(stage.keys()).toEqual(expect.arrayContaining(["0#0", "0#0/MmBackward0.0", "1#0/SigmoidBackward0.0"]));
  expect(stage.keys()).not.toContain("1#0");
  const said = (): string => item("1#0/SigmoidBackward0.0").querySelector("span")?.textContent ?? "";
  expect(said()).toContain("1, Sigmoid");
  press("a"); // a row has no room for the operation
  await waitFor(() => expect(said()).toContain("1, Sigmoid · sigmoid"));
  item("1#0/SigmoidBackward0.0").dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
  await waitFor(() => expect(item("1#0").getAttribute("aria-expanded")).toBe("true"));
  item("1#0").dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
  await waitFor(() => expect(stage.keys()).not.toContain("1#0"));
});

test("texts: max in a closed module, no gradient, a loss or output, calls only if there are several", async () => {
  show(activations(), states());
  await drawn("1#0/SigmoidBackward0.0");
  item("0#0").dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
  await waitFor(() => expect(item("0#0").dataset.detail).toMatch(/^2 nodes · max 5$/));
  choose("statistic", "min");
  await waitFor(() => expect(item("0#0").dataset.detail).toBe("2 nodes · up to 2.5"));
  choose("statistic", "zero_fraction");
  await waitFor(() => expect(item("0#0").dataset.detail).toBe("2 nodes · 0"));
  expect(one("legend")?.textContent).toContain("no gradient");
  item("root:out").click();
  await waitFor(() => expect(one("card")?.querySelector(".kind")?.textContent).toBe("loss or output"));
  item("0#0").click();
  await waitFor(() => expect(one("toggle")).not.toBeNull());
  expect(one("card")?.querySelector("[data-fact=call]")).toBeNull();
  choose("run", "states");
  await drawn("parameter:lin.weight");
  item("lin#1").click();
  await waitFor(() => expect(one("card")?.querySelector("[data-fact=call]")?.textContent).toBe("1"));
});

test("the help explains keys and symbols", async () => {
  show(chainRule());
  await drawn("leaf:x");
  one("help")?.click();
  await waitFor(() => expect(one("help-text")?.textContent).toContain("no gradient arrived"));
  press("Escape");
  await waitFor(() => expect(one("help-text")).toBeNull());
});

test("with several structures the toolbar wraps before its choices shrink, at 1400", async () => {
  stage.place.style.width = "1400px";
  show(twoStructures(), { ...twoStructures(), run: "a_training_that_has_a_long_name" });
  await drawn("/TanhBackward0.0");
  await waitFor(() => expect(one("hash")).not.toBeNull());
  const [choices, tools] = [".choices", ".tools"].map((part) => stage.place.querySelector<HTMLElement>(part)!);
  for (const id of ["run", "tag", "hash", "statistic"]) {
    const select = one(id) as HTMLElement;
    const now = select.offsetWidth;
    choices!.style.width = "3000px";
    expect(now).toBe(select.offsetWidth);
    choices!.style.width = "";
  }
  const end = one("compare")!.getBoundingClientRect();
  expect(end.right <= tools!.getBoundingClientRect().left || end.bottom <= tools!.getBoundingClientRect().top).toBe(true);
});

test.each([1280, 1100, 1000, 860, 700])("the toolbar is one row or two whole ones, at %i", async (width) => {
  stage.place.style.width = `${width}px`;
  show(withFindings());
  await drawn("parameter:0.weight");
  await waitFor(() => expect(one("findings")).not.toBeNull());
  await settle(50);
  const [left, right] = [".choices", ".tools"].map((part) => stage.place.querySelector(part)!.getBoundingClientRect());
  expect(right!.right).toBeLessThanOrEqual(stage.place.getBoundingClientRect().left + width);
  expect(left!.right <= right!.left || left!.bottom <= right!.top).toBe(true);
  const controls = [...stage.place.querySelectorAll(".choices > *")].map((control) => control.getBoundingClientRect());
  controls.slice(1).forEach((control, i) => expect(control.left).toBeGreaterThanOrEqual(controls[i]!.right));
});
