// Ranges of axes: one diverged line does not flatten the rest; zoomed and moved ranges; parameters of runs.

import { expect, test } from "vitest";
import { groupRange } from "../../src/model/charts/group_range";
import { fullRange, robustRange, type RangedLine } from "../../src/model/charts/robust_range";
import { differing, levelsOf, parametersInName, parametersOf } from "../../src/model/charts/run_parameters";
import { keptWithin, movedBy, partOf, zoomedAround } from "../../src/model/charts/zoom_range";

// Losses that fall from 4 to 0.04 in a hundred steps; line i is that many percent higher.
const losses = (count: number): readonly RangedLine[] =>
  Array.from({ length: count }, (_, run) => ({
    id: `run${run}`,
    entry: "loss",
    values: Array.from({ length: 101 }, (_, step) => 4 * (1 + run / 100) * 10 ** (-step / 50)),
  }));
const diverged: RangedLine = { id: "bad", entry: "loss", values: Array.from({ length: 101 }, (_, step) => 4 * 10 ** (step / 2.5)) };

test.each([true, false])("one diverged run among many leaves the axis, which is that of the others (log: %s)", (log) => {
  const range = robustRange([...losses(11), diverged], log)!;
  expect(range.low).toBeCloseTo(0.04, 10);
  expect(range.high).toBeCloseTo(4.4, 10);
  expect(range.cut).toEqual([{ id: "bad", reaches: expect.closeTo(4e40, -36) as number }]);
  expect(fullRange([...losses(11), diverged], log)).toMatchObject({ high: expect.closeTo(4e40, -36) as number, cut: [] });
});

test("without a diverged run, nothing is cut: falling losses, constants, zeros, both signs, one line alone", () => {
  const constant: RangedLine = { id: "constant", entry: "lr", values: [0.1, 0.1] };
  for (const lines of [losses(1), losses(2), losses(12), [...losses(3), constant], [constant]])
    for (const log of [true, false]) expect(robustRange(lines, log)).toEqual(fullRange(lines, log));
  const zeros: RangedLine = { id: "zeros", entry: "loss", values: [0, null, 0] };
  expect(robustRange([zeros], true)).toBeUndefined();
  expect(robustRange([zeros, ...losses(2)], false)).toMatchObject({ low: 0, cut: [] });
  expect(robustRange([{ id: "signed", entry: "mean", values: [-3, 2, NaN, Infinity] }], false)).toEqual({ low: -3, high: 2, cut: [] });
  expect(robustRange([{ id: "signed", entry: "mean", values: [-3, 2] }], true)).toEqual({
    low: 2,
    high: expect.closeTo(3, 10) as number,
    cut: [],
  });
});

test("lines are compared within their entry: norms a million times as great as losses are no outliers", () => {
  const norms = losses(5).map((line) => ({
    ...line,
    entry: "norm",
    id: `${line.id} norm`,
    values: line.values.map((value) => value! * 1e6),
  }));
  expect(robustRange([...losses(5), ...norms], true)!.cut).toEqual([]);
});

test("a single run that diverges at its end is cut on a logarithmic axis", () => {
  const values = Array.from({ length: 100 }, (_, step) => (step < 95 ? 1 + step / 100 : 10 ** (5 * (step - 94))));
  const range = robustRange([{ id: "one", entry: "loss", values }], true)!;
  expect(range.low).toBe(1);
  expect(range.high).toBeLessThan(1e5);
  expect(range.cut).toEqual([{ id: "one", reaches: expect.closeTo(1e25, -20) as number }]);
});

test("zoomed and moved ranges keep the number under the pointer", () => {
  expect(zoomedAround([0, 10], 0.2, 0.5, false)).toEqual([1, 6]); // 2 stays at a fifth
  const [low, high] = zoomedAround([1, 1e4], 0.5, 0.5, true);
  expect(Math.log10(low)).toBeCloseTo(1, 12);
  expect(Math.log10(high)).toBeCloseTo(3, 12);
  expect(movedBy([0, 10], 0.1, false)).toEqual([1, 11]);
  expect(movedBy([1, 100], 0.5, true).map(Math.log10)).toEqual([1, 3]);
  expect(partOf([0, 10], 0.8, 0.2, false)).toEqual([2, 8]);
  expect(keptWithin([-5, 5], [0, 100], 2)).toEqual([0, 10]);
  expect(keptWithin([40, 40.5], [0, 100], 2)).toEqual([39.25, 41.25]);
  expect(keptWithin([-500, 500], [0, 100], 2)).toEqual([0, 100]);
  // What numbers cannot hold leaves the range as it was.
  expect(zoomedAround([1, 10], 0.5, 1e9, true)).toEqual([1, 10]);
  expect(zoomedAround([5, 5 + 1e-9], 0.5, 0.1, false)).toEqual([5, 5 + 1e-9]);
});

test("hyperparameters in names of runs", () => {
  const of = (run: string): object => Object.fromEntries(parametersInName(run));
  expect(of("lr=0.01,width=64")).toEqual({ lr: 0.01, width: 64 });
  expect(of("sweep/lr=1e-3_optimizer=adam_w/seed=0")).toEqual({ lr: 0.001, optimizer: "adam_w", seed: 0 });
  expect(of("a-lr=1e-3-b=-2")).toEqual({ lr: 0.001, b: -2 });
  expect(of("2024-01-01_12:30")).toEqual({});
  expect(of("resnet18")).toEqual({});
});

test("those in which the runs differ, in order; TensorBoard's own come first", () => {
  const runs = ["lr=0.1/a", "lr=0.001/b", "lr=0.001/c"];
  const of = parametersOf(
    runs,
    new Map([
      [
        "lr=0.1/a",
        new Map<string, number | string>([
          ["lr", 10],
          ["kind", "wide"],
        ]),
      ],
    ]),
  );
  expect(differing(runs, of)).toEqual(["lr", "kind"]);
  expect(levelsOf("lr", runs, of)).toEqual([
    { value: 0.001, part: 0 },
    { value: 10, part: 1 },
  ]);
  expect(levelsOf("kind", runs, of)).toEqual([
    { value: "wide", part: undefined },
    { value: undefined, part: undefined },
  ]);
  expect(differing(["lr=1,a=2", "lr=1,a=3"], parametersOf(["lr=1,a=2", "lr=1,a=3"], new Map()))).toEqual(["a"]);
  const three = ["w=1", "w=10", "w=1000"];
  expect(levelsOf("w", three, parametersOf(three, new Map())).map(({ part }) => part)).toEqual([0, expect.closeTo(1 / 3, 10), 1]);
});

test("many lines as median, least and greatest: at each step of the numbers that are there", () => {
  const lines = [
    { steps: [0, 1, 2], values: [1, 2, null] },
    { steps: [0, 2], values: [5, NaN] },
    { steps: [0, 1], values: [4, 10] },
  ];
  expect(groupRange(lines)).toEqual({ steps: [0, 1], median: [4, 6], low: [1, 2], high: [5, 10] });
  expect(groupRange([])).toEqual({ steps: [], median: [], low: [], high: [] });
});
