// Fetches the answer to the present choice whenever that changes, and drops answers that come too late.

import { effect, untracked } from "@preact/signals";
import type { Dispose } from "./disposer";
import { failure, type Result } from "./result";

// `choice` is read again whenever a signal in it changes. It is asked for if it differs from the previous one, part by
// part, or if the last answer was a failure; undefined asks for nothing. `put` gets the answer to the present choice,
// even a failure; what throws is a failure too. Nothing is put after the end.
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
