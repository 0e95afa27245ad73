// Where the focus goes, what arrows do in a choice, what a link says of itself, and what the wheel does.

import { expect, test } from "vitest";
import { training } from "../../fixtures/examples.mjs";
import { writeHash } from "../../src/panel/session/host";
import { press, settle, useStage, waitFor } from "../stage";

const stage = useStage();
const { show, one, drawn } = stage;

test("a choice of one among few is one stop of Tab, and arrows go through it and move no step", async () => {
  show(training());
  await drawn("parameter:w");
  const step = (one("step") as HTMLInputElement).value;
  const radios = (): HTMLElement[] => [...one("view")!.querySelectorAll<HTMLElement>("[role=radio]")];
  expect(radios().map(({ tabIndex }) => tabIndex)).toEqual([0, -1, -1]);
  for (const [key, id] of [
    ["ArrowRight", "flow"],
    ["ArrowLeft", "graph"],
    ["ArrowLeft", "charts"],
    ["ArrowRight", "graph"],
  ] as const) {
    press(key, document.activeElement!.role === "radio" ? document.activeElement! : radios()[0]!);
    await waitFor(() => expect(one("view")?.dataset.value).toBe(id));
    expect(document.activeElement).toBe(one(`view-${id}`));
    expect(radios().filter(({ tabIndex }) => tabIndex === 0)).toEqual([one(`view-${id}`)]);
  }
  expect((one("step") as HTMLInputElement).value).toBe(step);
});

test("Escape in a list of the comparison's bar ends the comparison, and the focus is on its switch", async () => {
  show(training());
  await drawn("parameter:w");
  press("c");
  await waitFor(() => expect(one("vs-run")).not.toBeNull());
  one("vs-run")!.focus();
  press("Escape", one("vs-run")!);
  await waitFor(() => expect(one("compare-bar")).toBeNull());
  expect(document.activeElement).toBe(one("compare"));
});

test("a link to a step that is not recorded says which one is shown instead", async () => {
  writeHash("p.gradgraph.step=4711");
  show(training());
  await drawn("parameter:w");
  expect(one("notice")?.textContent).toContain("Step 4711 of the link is not recorded here");
  expect(one("notice")?.textContent).toContain(`step ${(one("step") as HTMLInputElement).value},`);
});

test("the wheel moves the drawing, with Ctrl it zooms by less than a half at a notch, and the setting zooms without", async () => {
  show(training());
  await drawn("parameter:w");
  await settle(400);
  const turn = (init: WheelEventInit): { x: number; y: number; k: number } => {
    one("canvas")!.dispatchEvent(new WheelEvent("wheel", { bubbles: true, cancelable: true, ...init }));
    return stage.camera();
  };
  const before = stage.camera();
  let now = before;
  turn({ deltaX: 30, deltaY: 50 });
  await waitFor(() => expect((now = stage.camera())).toEqual({ k: before.k, x: before.x - 30, y: before.y - 50 }));
  turn({ deltaY: -120, ctrlKey: true });
  await waitFor(() => expect(stage.camera().k).toBeGreaterThan(now.k * 1.05));
  expect(stage.camera().k).toBeLessThan(now.k * 1.5);
  one("help")!.click();
  await waitFor(() => expect(one("scroll-zooms")).not.toBeNull());
  one("scroll-zooms")!.click();
  now = stage.camera();
  turn({ deltaY: -120 });
  await waitFor(() => expect(stage.camera().k).toBeGreaterThan(now.k * 1.05));
  one("scroll-zooms")!.click();
});
