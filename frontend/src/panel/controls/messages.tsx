// Messages in place of a drawing, or over it.

import { useEffect } from "preact/hooks";
import type { JSX } from "preact";
import { runTitle } from "../../model/recorded/run";
import type { Store } from "../../state/store";
import { CloseIcon, IconButton } from "./icons";

const SNIPPET = `from tb_gradgraph import SummaryWriter

writer = SummaryWriter()
writer.watch(model, optimizer=optimizer)
... # your training loop
writer.close()`;

const NOTICE_MS = 8000;

export function Empty(): JSX.Element {
  return (
    <div class="message" data-testid="empty">
      <h2>No gradient graphs here yet</h2>
      <p>Add these lines to a training script, run it with this log directory, and reload:</p>
      <pre tabIndex={0} aria-label="Lines to add">
        <code>{SNIPPET}</code>
      </pre>
      <p class="faint">
        <code>writer.add_grad_graph(model, x)</code> records one step by itself, without a loop. The graph shown is the one that autograd
        ran, with the gradient of every node at every recorded step.
      </p>
    </div>
  );
}

// A run that has no record, yet or at all.
export function NothingRecorded({ run }: { readonly run: string }): JSX.Element {
  return (
    <div class="message" data-testid="nothing-recorded">
      <h2>Nothing recorded in this run</h2>
      <p>
        Run <b>{runTitle(run)}</b> holds no record of a gradient graph.
      </p>
      <p>
        If it is still training, its first records appear when the writer is flushed; then reload. Otherwise check that{" "}
        <code>writer.watch(…)</code> or <code>writer.add_grad_graph(…)</code> was called, that a backward ran after it, and that{" "}
        <code>writer.close()</code> was reached.
      </p>
    </div>
  );
}

export function Failure({ sentence, retry }: { readonly sentence: string; readonly retry: () => void }): JSX.Element {
  return (
    <div class="message" data-testid="error" role="alert">
      <h2>This could not be shown</h2>
      <p>{sentence}</p>
      <button type="button" class="action" data-testid="retry" onClick={retry}>
        Try again
      </button>
    </div>
  );
}

export function Loading({ what, onStop }: { readonly what: string; readonly onStop?: (() => void) | undefined }): JSX.Element {
  return (
    <div class="loading" data-testid="loading" role="status">
      {what}
      {onStop && (
        <button type="button" onClick={onStop}>
          Stop
        </button>
      )}
    </div>
  );
}

// A message that disappears by itself.
export function Notice({ store }: { readonly store: Store }): JSX.Element | null {
  const sentence = store.shown.notice.value;
  useEffect(() => {
    if (sentence === undefined) return undefined;
    const timer = setTimeout(() => (store.shown.notice.value = undefined), NOTICE_MS);
    return () => clearTimeout(timer);
  }, [sentence]);
  if (sentence === undefined) return null;
  return (
    <div class="notice" data-testid="notice" role="status">
      {sentence}
      <IconButton id="notice-close" label="Dismiss" onClick={() => (store.shown.notice.value = undefined)}>
        <CloseIcon />
      </IconButton>
    </div>
  );
}

// The run of a link does not exist yet.
export function Waiting({ store }: { readonly store: Store }): JSX.Element | null {
  const awaited = store.place.awaited.value?.run;
  if (awaited === undefined) return null;
  return (
    <div class="warnings" data-testid="waiting" role="status">
      There is no run "{awaited}" here yet. It is shown once TensorBoard has read it. Until then you see "
      {runTitle(store.place.run.value?.run ?? "")}".{" "}
      <button type="button" class="link" data-testid="stay" onClick={() => (store.place.awaited.value = undefined)}>
        Stay here
      </button>
    </div>
  );
}

export function Warnings({ store }: { readonly store: Store }): JSX.Element | null {
  const warnings = store.place.run.value?.warnings ?? [];
  if (warnings.length === 0) return null;
  const [first, ...others] = warnings;
  if (others.length === 0)
    return (
      <div class="warnings" data-testid="warnings" role="status">
        {first}
      </div>
    );
  return (
    <details class="warnings" data-testid="warnings">
      <summary>
        {first} (and {others.length} more)
      </summary>
      <ul>
        {others.map((warning, i) => (
          <li key={i}>{warning}</li>
        ))}
      </ul>
    </details>
  );
}

// Records of earlier sessions that are hidden, or shown as separate runs.
export function HiddenSessions({ store }: { readonly store: Store }): JSX.Element | null {
  const hidden = store.place.run.value?.hidden ?? [];
  const {
    alone,
    place: { allSessions },
  } = store;
  if (hidden.length === 0 && !allSessions.value) return null;
  const turn = (
    <button
      type="button"
      class="link"
      data-testid="all-sessions"
      aria-pressed={allSessions.value}
      onClick={() => (allSessions.value = !allSessions.value)}
    >
      {allSessions.value ? "Leave out hidden sessions" : "Show hidden sessions as runs"}
    </button>
  );
  const [first, ...others] = hidden;
  return (
    <div class="warnings" data-testid="hidden" role="status">
      {first !== undefined && <span title={`To keep them from being hidden: ${first.cure}.`}>{first.text} </span>}
      {others.length > 0 && (
        <details>
          <summary>and {others.length} more</summary>
          <ul>
            {others.map(({ text }) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </details>
      )}
      {!alone && turn}
    </div>
  );
}

export function NoGradients({ store }: { readonly store: Store }): JSX.Element | null {
  const record = store.recorded.record.value;
  if (record === undefined || record.hasGradients || store.shown.half.value === "value") return null;
  return (
    <div class="banner" data-testid="no-gradients">
      No backward has run over this graph yet. Only the structure is shown, without gradients.
    </div>
  );
}
