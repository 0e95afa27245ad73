// What is in sight is in the link, and the link alone shows it: the camera of the graph, and the part of the heat map.

import { expect, test } from "vitest";
import { one, spiked } from "../../fixtures/compared.mjs";
import { readHash, writeHash } from "../../src/panel/session/host";
import { settle, useStage, waitFor } from "../stage";

const stage = useStage();
const wheel = (id: string, delta: object): void => {
  const element = stage.one(id)!;
  const { left, top, width, height } = element.getBoundingClientRect();
  const at = { clientX: left + width / 2, clientY: top + height / 2, bubbles: true, cancelable: true };
  element.dispatchEvent(new WheelEvent("wheel", { ...at, ...delta }));
};

// The middle of the view, from the middle of a box, in units of the drawing.
function middleFrom(key: string): readonly number[] {
  const { width, height } = stage.one("canvas")!.getBoundingClientRect();
  const { x, y } = stage.middleOf(key);
  const { k } = stage.camera();
  return [(width / 2 - x) / k, (height / 2 - y) / k, k];
}

test("the camera of the graph, also in a window of another size; a selection out of sight stays there", async () => {
  writeHash("p.gradgraph.sel=parameter%3Aup.weight");
  stage.show(one());
  await stage.drawn("parameter:up.weight");
  await settle(300);
  expect(readHash()).not.toContain("gradgraph.at=");
  wheel("canvas", { deltaY: -300, ctrlKey: true });
  wheel("canvas", { deltaX: 90, deltaY: 500 });
  await waitFor(() => expect(readHash()).toContain("gradgraph.at="));
  await settle(400);
  const [link, before] = [readHash().slice(1), middleFrom("root:loss")];
  stage.show();
  writeHash(link);
  stage.place.style.width = "820px";
  stage.show(one());
  await stage.drawn("parameter:up.weight");
  await waitFor(() => middleFrom("root:loss").forEach((part, i) => expect(Math.abs(part - before[i]!)).toBeLessThan(2)));
  await settle(600); // the card has come, and whatever else moves the camera
  middleFrom("root:loss").forEach((part, i) => expect(Math.abs(part - before[i]!)).toBeLessThan(2));
  stage.place.style.width = "";
});

test("the part of the heat map, with the rows that are open; the chosen step stays out of sight", async () => {
  writeHash("p.gradgraph.view=flow&p.gradgraph.step=0&p.gradgraph.sel=parameter%3Aup.weight");
  stage.show(spiked());
  const canvas = (): HTMLElement => stage.one("flow-canvas")!;
  await waitFor(() => expect(canvas()?.dataset.columns).toMatch(/,40$/));
  await settle(400);
  expect(readHash()).not.toContain("flow.columns");
  expect(readHash()).not.toContain("flow.open");
  stage.place.style.height = "300px";
  await settle(300);
  for (let i = 0; i < 3; i++) wheel("flow-canvas", { deltaY: -600, ctrlKey: true });
  wheel("flow-canvas", { deltaX: 300, deltaY: 60 });
  await waitFor(() => expect(readHash()).toContain("flow.rows="));
  stage.one("expand-all")!.click();
  wheel("flow-canvas", { deltaY: 60 });
  await waitFor(() => expect(readHash()).toContain("flow.open="));
  await settle(500);
  const [link, before] = [readHash().slice(1), { ...canvas().dataset }];
  stage.show();
  writeHash(link);
  stage.show(spiked());
  await waitFor(() => expect(canvas()?.dataset).toMatchObject({ rows: before.rows, columns: before.columns }));
  await settle(300);
  expect(canvas().dataset).toMatchObject({ rows: before.rows, columns: before.columns });
});
