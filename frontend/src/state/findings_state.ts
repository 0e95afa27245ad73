// What is known of the findings of the shown training, and what the user said about them.

import { batch, computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { isCause, nameOf, type RunFinding, type RunFindings } from "../model/findings/run_findings";

export interface FindingsState {
  readonly ofRun: Signal<RunFindings | undefined>; // undefined: not known, or not yet
  readonly purposed: Signal<ReadonlySet<string>>; // names of findings that are so on purpose, in the order in which that was said
  readonly linked: Signal<readonly string[]>; // the same, from a link, until the findings arrive
  readonly seen: Signal<ReadonlySet<string>>; // names of findings that are no news
  readonly open: Signal<boolean>; // whether the verdict is shown
  readonly causes: ReadonlySignal<readonly RunFinding[]>; // errors and warnings that are not on purpose
  readonly news: ReadonlySignal<readonly RunFinding[]>; // those of them that were not seen before
}

// Stands among the names of what was seen for the sentence that nothing looks wrong.
const HEALTHY = "healthy";

export function createFindings(): FindingsState {
  const ofRun = signal<RunFindings | undefined>(undefined);
  const purposed = signal<ReadonlySet<string>>(new Set());
  const seen = signal<ReadonlySet<string>>(new Set());
  const causes = computed(() => (ofRun.value?.findings ?? []).filter((one) => isCause(one) && !purposed.value.has(nameOf(one))));
  return {
    ofRun,
    purposed,
    seen,
    linked: signal<readonly string[]>([]),
    open: signal(false),
    causes,
    news: computed(() => causes.value.filter((one) => !seen.value.has(nameOf(one)))),
  };
}

// The findings of a training that was not shown before; it opens with its verdict if that is news.
export function enterFindings(state: FindingsState, found: RunFindings, purposed: readonly string[], seen: readonly string[]): void {
  batch(() => {
    state.ofRun.value = found;
    state.purposed.value = new Set([...purposed, ...state.linked.peek()]);
    state.linked.value = [];
    state.seen.value = new Set(seen);
    state.open.value = state.news.value.length > 0 || (found.healthy && !seen.includes(HEALTHY));
  });
}

export function leaveFindings(state: FindingsState): void {
  batch(() => {
    state.ofRun.value = undefined;
    state.open.value = false;
    state.purposed.value = state.seen.value = new Set();
  });
}

// A link that is opened later adds to what is on purpose.
export function takeLinked(state: FindingsState, names: readonly string[]): void {
  if (state.ofRun.peek() === undefined) state.linked.value = names;
  else if (names.some((name) => !state.purposed.peek().has(name))) state.purposed.value = new Set([...state.purposed.peek(), ...names]);
}

export function setPurposed(state: FindingsState, finding: RunFinding, isPurposed: boolean): void {
  const names = new Set(state.purposed.peek());
  if (isPurposed) names.add(nameOf(finding));
  else names.delete(nameOf(finding));
  state.purposed.value = names;
}

// From now on, what is listed is no news.
export function markSeen(state: FindingsState): void {
  const found = state.ofRun.peek();
  if (found === undefined) return;
  const names = [...found.findings.map(nameOf), ...(found.healthy ? [HEALTHY] : [])];
  if (names.some((name) => !state.seen.peek().has(name))) state.seen.value = new Set([...state.seen.peek(), ...names]);
}

export function closeVerdict(state: FindingsState): void {
  batch(() => {
    markSeen(state);
    state.open.value = false;
  });
}
