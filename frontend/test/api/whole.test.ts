// A whole tensor that is too large to come with its step is asked for when it is looked at.

import { expect, test } from "vitest";
import { retained } from "../../fixtures/examples.mjs";
import type { TensorHeader } from "../../src/api/contract";
import { parseFrame } from "../../src/api/frame";
import { parseTensor } from "../../src/api/parse";
import { frameBytes, recordAt } from "../fixture";
import { useStage, waitFor } from "../stage";

const stage = useStage();
const asked = (): string[] => stage.asked.filter((url) => url.includes("/tensor?"));

test("a tensor's frame is read exactly", () => {
  const frame = parseFrame<TensorHeader>(frameBytes(retained(), "tensor", { step: "0", row: "0", what: "gradient" }));
  const numbers = frame.ok ? parseTensor(frame.value) : frame;
  expect(numbers.ok && [numbers.value.length, numbers.value[1], numbers.value[1999]]).toEqual([2000, 1 / 3, NaN]);
  expect(recordAt(retained(), 0).leftOut).toEqual({ gradient: new Set([0]), value: new Set() });
});

test("it is drawn as a picture when its box is selected, and not fetched before", async () => {
  stage.show(retained());
  await stage.drawn("parameter:w");
  expect(asked()).toEqual([]);
  stage.item("parameter:w").click();
  await waitFor(() =>
    expect(stage.one("whole-gradient")?.dataset).toMatchObject({
      elements: "2000",
      columns: "50",
      rows: "40",
      reach: "666",
      nonfinite: "1",
    }),
  );
  expect(asked()).toEqual(["./fixture/tensor?run=retained&tag=net&step=0&backward_pass=0&stage=backward&row=0&what=gradient"]);
});

test("if it cannot be fetched, the server's message is shown instead", async () => {
  const run = retained();
  stage.show(run);
  await stage.drawn("parameter:w");
  (run.records[0] as unknown as { large: Map<number, unknown> }).large.clear();
  stage.item("parameter:w").click();
  await waitFor(() => expect(stage.one("whole-gradient-fetched")?.textContent).toBe("There is no such thing."));
});
