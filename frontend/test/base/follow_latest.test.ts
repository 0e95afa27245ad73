// Answers that come too late are dropped, failures are put, and the end ends it.

import { signal } from "@preact/signals";
import { expect, test } from "vitest";
import { followLatest } from "../../src/base/follow_latest";
import { failure, success, type Result } from "../../src/base/result";

// Follows a number; the test answers when and how it likes.
function followed() {
  const chosen = signal<number | undefined>(1);
  const step = signal(0);
  const asked: { readonly of: number; readonly answer: (reply: Result<string>) => void; readonly fail: (error: Error) => void }[] = [];
  const put: (readonly [number, string])[] = [];
  const end = followLatest(
    () => {
      void step.value; // what it depends on without being of it
      return chosen.value === undefined ? undefined : ([chosen.value] as const);
    },
    ([of]) => new Promise<Result<string>>((answer, fail) => asked.push({ of, answer, fail })),
    (reply, [of]) => {
      put.push([of, reply.ok ? reply.value : `failed: ${reply.error}`]);
    },
  );
  const answer = async (at: number, reply: Result<string>): Promise<void> => {
    asked[at]!.answer(reply);
    await new Promise((resolve) => setTimeout(resolve, 0));
  };
  return { chosen, step, asked, put, end, answer };
}

test("an answer to what is no longer chosen is dropped, whichever comes first", async () => {
  const { chosen, put, answer } = followed();
  chosen.value = 2;
  await answer(0, success("one, late"));
  await answer(1, success("two"));
  chosen.value = 3;
  chosen.value = 4;
  await answer(3, success("four"));
  await answer(2, success("three, late"));
  expect(put).toEqual([
    [2, "two"],
    [4, "four"],
  ]);
});

test("what is chosen again is asked again, and the first answer to it is still too late", async () => {
  const { chosen, asked, put, answer } = followed();
  chosen.value = 2;
  chosen.value = 1;
  expect(asked.map(({ of }) => of)).toEqual([1, 2, 1]);
  await answer(0, success("old"));
  await answer(2, success("new"));
  expect(put).toEqual([[1, "new"]]);
});

test("the same choice is not asked for twice, unless it failed", async () => {
  const { step, asked, put, answer } = followed();
  step.value++;
  expect(asked.length).toBe(1);
  await answer(0, failure("away"));
  step.value++;
  expect(asked.length).toBe(2);
  await answer(1, success("back"));
  step.value++;
  expect(asked.length).toBe(2);
  expect(put).toEqual([
    [1, "failed: away"],
    [1, "back"],
  ]);
});

test("what throws is put as a failure", async () => {
  const { asked, put } = followed();
  asked[0]!.fail(new Error("broken"));
  await new Promise((resolve) => setTimeout(resolve, 0));
  expect(put).toEqual([[1, "failed: Error: broken"]]);
});

test("while nothing is chosen nothing is requested, and pending answers are dropped", async () => {
  const { chosen, asked, put, answer } = followed();
  chosen.value = undefined;
  await answer(0, success("late"));
  expect([asked.length, put]).toEqual([1, []]);
});

test("after the end nothing is requested or put", async () => {
  const { chosen, asked, put, end, answer } = followed();
  end();
  await answer(0, success("late"));
  chosen.value = 2;
  expect([asked.length, put]).toEqual([1, []]);
});
