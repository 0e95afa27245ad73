import { expect, test } from "vitest";
import { lanesOf, nameOf, stepsOf, type RunFinding } from "../../src/model/findings/run_findings";
import { sparklineOf } from "../../src/model/findings/sparkline";

const STEPS = Array.from({ length: 11 }, (_, i) => 10 * i);

function finding(change: Partial<RunFinding> = {}): RunFinding {
  return {
    kind: "kind",
    severity: "warning",
    text: "It happened.",
    advice: "",
    key: "",
    module: "",
    firstStep: 0,
    lastStep: 100,
    count: 1,
    examined: 1,
    measure: "",
    numbers: [],
    ...change,
  };
}

test("a finding keeps its name while its numbers change, and has its node's", () => {
  const one = finding({ key: "parameter:w", lastStep: 10, text: "1" });
  expect(nameOf(one)).toBe(nameOf({ ...one, lastStep: 20, text: "2" }));
  expect(nameOf(one)).not.toBe(nameOf({ ...one, key: "parameter:v" }));
  expect([stepsOf(one), stepsOf({ ...one, lastStep: 0 })]).toEqual(["steps 0–10", "step 0"]);
});

test("findings lie in lanes without touching; what has no room is left out", () => {
  const at = (firstStep: number, lastStep: number): RunFinding => finding({ firstStep, lastStep });
  const lanes = lanesOf([at(90, 100), at(0, 20), at(20, 30), at(0, 100), at(0, 100)], STEPS);
  expect(lanes.map((bars) => bars.map(({ from, to }) => [from, to]))).toEqual([
    [
      [0.9, 1],
      [0, 0.2],
    ],
    [[0.2, 0.3]],
    [[0, 1]],
  ]);
});

test("a step that is not recorded is at the next one that is", () => {
  const bar = lanesOf([finding({ firstStep: 11, lastStep: 999 })], STEPS)[0]![0]!;
  expect([bar.from, bar.to]).toEqual([0.2, 1]);
});

test("a sparkline has gaps where numbers are not finite, and a band over the finding's steps", () => {
  const numbers = [0, 1, 2, 3, 4].map((step) => [step, step === 2 ? NaN : step] as const);
  const found = sparklineOf(finding({ numbers, firstStep: 2, lastStep: 4 }), 104, 24, []);
  expect(found.line).toBe("M2.0 22.0h0L27.0 17.0M77.0 7.0h0L102.0 2.0");
  expect([found.bad, found.band, found.isLog]).toEqual([[52], [52, 102], false]);
});

test("numbers over several powers of ten are drawn logarithmically", () => {
  const numbers = [1, 10, 100].map((number, step) => [step, number] as const);
  const found = sparklineOf(finding({ numbers }), 104, 24, []);
  expect([found.isLog, found.line]).toEqual([true, "M2.0 22.0h0L52.0 12.0L102.0 2.0"]);
});

test("equal numbers are a line in the middle; without numbers there is only the band, never without width", () => {
  const level = [0, 1].map((step) => [step, 7] as const);
  expect(sparklineOf(finding({ numbers: level }), 104, 24, []).line).toBe("M2.0 12.0h0L102.0 12.0");
  const none = sparklineOf(finding({ firstStep: 50, lastStep: 50 }), 104, 24, STEPS);
  expect([none.line, none.band]).toEqual(["", [51, 53]]);
});
