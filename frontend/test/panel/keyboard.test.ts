// Keys: what they press, and the nodes of the drawing reached without a pointer.

import { expect, test } from "vitest";
import { activations, chainRule, training, transformer, withFindings } from "../../fixtures/examples.mjs";
import { press, settle, useStage, waitFor } from "../stage";

const stage = useStage();
const { one, item, show, drawn } = stage;
const lit = (): readonly string[] => (one("canvas")!.dataset.lit ?? "").split("\n");
const hasFocus = (key: string): Promise<void> => waitFor(() => expect((document.activeElement as HTMLElement).dataset.key).toBe(key));

test.each([
  ["?", "help-text"],
  ["n", "finding-list"],
  ["o", "colors-list"],
  ["s", "take-away-list"],
])("%s opens %s, and closes it", async (key, opened) => {
  show(withFindings());
  await drawn("parameter:0.weight");
  await waitFor(() => expect(one("findings")).not.toBeNull());
  press(key, one("canvas")!);
  await waitFor(() => expect(one(opened)).not.toBeNull());
  press(key, one("canvas")!);
  await waitFor(() => expect(one(opened)).toBeNull());
});

test("keys choose the view, the direction and the stage, and open Find", async () => {
  show(training());
  await drawn("parameter:w");
  press("d");
  await waitFor(() => expect(one("direction")?.dataset.value).toBe("forward"));
  press("d");
  await waitFor(() => expect(one("direction")?.dataset.value).toBe("backward"));
  press("t");
  await waitFor(() => expect((one("stage") as HTMLSelectElement).value).toBe("accumulated"));
  for (const [key, view] of [
    ["3", "charts"],
    ["2", "flow"],
    ["1", "graph"],
  ] as const) {
    press(key);
    await waitFor(() => expect(one("view")?.dataset.value).toBe(view));
  }
  press("/");
  expect(document.activeElement).toBe(one("find"));
  press("d", one("find")!); // a letter that is typed
  await settle(50);
  expect(one("direction")?.dataset.value).toBe("backward");
});

test("Space on a module of the tree selects it and plays nothing", async () => {
  show(transformer(3, 4));
  await drawn("h.1#0");
  item("h.1#0").focus();
  press(" ", item("h.1#0"));
  await waitFor(() => expect(one("card")?.dataset.key).toBe("h.1#0"));
  expect(one("play")?.title).toBe("Play");
});

test("folding a module by Enter keeps the focus, and the ring around it", async () => {
  show(activations());
  await drawn("0#0");
  item("0#0").focus();
  press("Enter", item("0#0"));
  await waitFor(() => expect(item("0#0").getAttribute("aria-expanded")).toBe("false"));
  await hasFocus("0#0");
  await waitFor(() => expect(lit()).toContain("0#0"));
  // A module that is one operation is a box no more when it is folded: the operation stands for it.
  item("1#0/SigmoidBackward0.0").dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
  await waitFor(() => expect(item("1#0").getAttribute("aria-expanded")).toBe("true"));
  item("1#0").focus();
  press("Enter", item("1#0"));
  await hasFocus("1#0/SigmoidBackward0.0");
  await waitFor(() => expect(lit()).toContain("1#0/SigmoidBackward0.0"));
});

test("focus moves the drawing only to a box that is not visible", async () => {
  show(chainRule());
  await drawn("leaf:x");
  await waitFor(() => expect(one("canvas")?.dataset.camera).toBeDefined());
  for (let i = 0; i < 6; i++) one("zoom-out")?.click();
  await waitFor(() => expect(stage.camera().k).toBeLessThan(0.5));
  const before = one("canvas")!.dataset.camera;
  for (const key of ["root:loss", "leaf:x", "/PowBackward0.0"]) item(key).focus();
  await settle(100);
  expect(one("canvas")!.dataset.camera).toBe(before);
  for (let i = 0; i < 20; i++) one("zoom-in")?.click();
  await waitFor(() => expect(stage.camera().k).toBeGreaterThan(2));
  item("leaf:x").focus();
  await waitFor(() => {
    const { x, y } = stage.middleOf("leaf:x");
    const { clientWidth, clientHeight } = one("canvas")!;
    expect([x > 0 && x < clientWidth, y > 0 && y < clientHeight]).toEqual([true, true]);
  });
});
