// Runs of single processes are found by their names, below the run of the training.

import { expect, test } from "vitest";
import { ranksOf, wholeOf, type Run } from "../../src/model/recorded/run";

const runs = (...names: string[]): readonly Run[] => names.map((run) => ({ run, warnings: [], tags: [] }));

test("a process belongs to the run that it is below", () => {
  const all = runs("gpt", "gpt/ranks/0", "gpt/ranks/10", "gpt/ranks/2", "gpt/ranks/02", "gpt/ranks/x", "lost/ranks/1", "ranks");
  expect(wholeOf("gpt/ranks/10", all)).toEqual({ whole: "gpt", rank: 10 });
  for (const other of ["gpt", "gpt/ranks/02", "gpt/ranks/x", "lost/ranks/1", "ranks"]) expect(wholeOf(other, all)).toBeUndefined();
  expect(ranksOf("gpt", all).map(({ rank }) => rank)).toEqual([0, 2, 10]);
  expect(ranksOf("lost", all)).toEqual([]);
});

test("the log directory itself may be such a run", () => {
  const all = runs(".", "ranks/0", "ranks/1");
  expect(wholeOf("ranks/1", all)).toEqual({ whole: ".", rank: 1 });
  expect(ranksOf(".", all).map(({ run }) => run)).toEqual(["ranks/0", "ranks/1"]);
});
