// Parts of the panel that are loaded when they are first shown, or earlier while the browser is idle.

import { signal } from "@preact/signals";
import type { ComponentType, JSX } from "preact";
import { useEffect } from "preact/hooks";

export interface Deferred<P> {
  (props: P): JSX.Element;
  // Loads it unless it is loaded or on its way. Never fails: it is tried again when it is next shown.
  load(): Promise<void>;
}

type State<P> = { readonly Part: ComponentType<P> } | { readonly error: string } | undefined;

// `what` begins the sentence about a failure.
export function deferred<P extends object>(what: string, load: () => Promise<ComponentType<P>>): Deferred<P> {
  const state = signal<State<P>>(undefined);
  let asked: Promise<void> | undefined;
  const start = (): Promise<void> => {
    if (asked !== undefined) return asked;
    state.value = undefined;
    asked = load().then(
      (Part) => void (state.value = { Part }),
      (error: unknown) => {
        asked = undefined;
        state.value = { error: String(error) };
      },
    );
    return asked;
  };
  const Shown = (props: P): JSX.Element => {
    const now = state.value;
    useEffect(() => void start(), []);
    if (now === undefined) return <p class="deferred" data-testid="part-loading" role="status" aria-label="Loading" />;
    if ("Part" in now) return <now.Part {...props} />;
    return (
      <p class="deferred" data-testid="part-failed" role="alert" title={now.error}>
        {what} could not be loaded. TensorBoard may have been stopped or updated; after an update, reload the page.{" "}
        <button type="button" class="action" data-testid="part-retry" onClick={() => void start()}>
          Try again
        </button>
      </p>
    );
  };
  return Object.assign(Shown, { load: start });
}

const SOON_MS = 2000;

// Loads parts one after another while the browser has nothing else to do. Returns how to stop.
export function loadWhenIdle(parts: readonly Deferred<never>[]): () => void {
  let stopped = false;
  const idle = (run: () => void): void => {
    if ("requestIdleCallback" in window) requestIdleCallback(run, { timeout: SOON_MS });
    else setTimeout(run, SOON_MS); // Safari
  };
  const next = (at: number): void => {
    const part = parts[at];
    if (stopped || part === undefined) return;
    idle(() => void (stopped || part.load().then(() => next(at + 1))));
  };
  next(0);
  return () => void (stopped = true);
}
