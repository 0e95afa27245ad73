// Fetches the answer for the present choice whenever the choice changes, and drops answers that arrive too late.

import { effect, untracked } from "@preact/signals";
import type { Dispose } from "./disposer";
import { failure, type Result } from "./result";

// `choice` is read again whenever a signal in it changes. `ask` is called if any part of the choice
// differs from the previous one, or if the last answer was a failure. If the choice is undefined,
// nothing is asked. `put` gets the answer for the present choice, even if it is a failure; an
// exception counts as a failure. After the end, `put` is not called.
export function followLatest<C extends readonly unknown[], A>(
  choice: () => C | undefined,
  ask: (chosen: NoInfer<C>) => Promise<Result<A>>,
  put: (reply: Result<A>, chosen: NoInfer<C>) => void,
): Dispose {
  let latest: C | undefined;
  const forget = (): void => void (latest = undefined);
  const stop = effect(() => {
    const chosen = choice();
    if (chosen === undefined) return forget();
    if (latest !== undefined && isSame(latest, chosen)) return;
    latest = chosen;
    void untracked(() => answered(() => ask(chosen))).then((reply) => {
      if (latest !== chosen) return;
      if (!reply.ok) forget();
      put(reply, chosen);
    });
  });
  return () => {
    stop();
    forget();
  };
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((part, i) => Object.is(part, other[i]));
}

async function answered<A>(ask: () => Promise<Result<A>>): Promise<Result<A>> {
  try {
    return await ask();
  } catch (error) {
    return failure(String(error));
  }
}
