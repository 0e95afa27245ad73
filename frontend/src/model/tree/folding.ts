// Folds long rows of siblings, so that every level can be drawn.
//
// First, equal neighbors (48 blocks, 512 steps of a loop) become one "×48" group.
// If there are still more than FOLD_ABOVE children, they are split into numbered chunks.

export const FOLD_ABOVE = 300;
// This many blocks, or this many equal operations, are a run.
export const BLOCKS_FROM = 4;
export const REPEAT_FROM = 16;
const CHUNK = 100;
const CHUNKS = 50;
// An opened run shows at most this many blocks. A longer one shows parts of at least this many.
const RUN_ABOVE = 100;
const RUN_CHUNK = 20;
const LONGEST_PERIOD = 6;

// A sibling: `signature` is equal for equal structures.
export interface Sibling {
  readonly signature: number;
  readonly isBlock: boolean;
}

// Equal blocks, each of `period` siblings.
export interface Run {
  readonly period: number;
  readonly count: number;
}

export interface Folded<T> {
  readonly folds: readonly Fold<T>[];
  readonly run: Run | undefined; // set if the row is one run from end to end
}

export type Fold<T> =
  | { readonly kind: "one"; readonly sibling: T }
  | { readonly kind: "repeat"; readonly run: Run; readonly ends: Ends<T>; readonly children: readonly Fold<T>[] }
  | {
      readonly kind: "chunk";
      readonly run: Run;
      readonly from: number;
      readonly to: number;
      readonly ends: Ends<T>;
      readonly children: readonly Fold<T>[];
    };

// The siblings of the first and of the last repetition, to name a fold by.
export interface Ends<T> {
  readonly first: readonly T[];
  readonly last: readonly T[];
}

export function foldSiblings<T extends Sibling>(siblings: readonly T[]): Folded<T> {
  const folded: Fold<T>[] = [];
  for (let at = 0; at < siblings.length;) {
    const run = runAt(siblings, at);
    const end = run === undefined ? at + 1 : at + run.period * run.count;
    const ones = siblings.slice(at, end).map((sibling): Fold<T> => ({ kind: "one", sibling }));
    if (run === undefined) folded.push(ones[0]!);
    else folded.push({ kind: "repeat", run, ends: endsOf(ones, run.period), children: cutRun(ones, 1, run.period) });
    at = end;
  }
  const only = folded[0];
  // A level that is one run needs no second frame around it.
  if (folded.length === 1 && only?.kind === "repeat") return { folds: only.children, run: only.run };
  return { folds: cut(folded, 1), run: undefined };
}

// The shortest period that repeats often enough.
function runAt(siblings: readonly Sibling[], at: number): Run | undefined {
  for (let period = 1; period <= LONGEST_PERIOD && at + BLOCKS_FROM * period <= siblings.length; period++) {
    let end = at + period;
    while (end < siblings.length && siblings[end]!.signature === siblings[end - period]!.signature) end++;
    const count = Math.floor((end - at) / period);
    if (count < BLOCKS_FROM) continue;
    const least = siblings.slice(at, at + period).some(({ isBlock }) => isBlock) ? BLOCKS_FROM : REPEAT_FROM;
    if (count >= least) return { period, count };
  }
  return undefined;
}

function cut<T>(row: readonly Fold<T>[], first: number): readonly Fold<T>[] {
  if (row.length <= FOLD_ABOVE) return row;
  return chunksOf(row, Math.round(Math.max(CHUNK, row.length / CHUNKS)), first, 1, cut);
}

// Between repetitions only; `from` and `to` count repetitions.
function cutRun<T>(row: readonly Fold<T>[], first: number, period: number): readonly Fold<T>[] {
  const count = row.length / period;
  if (count <= RUN_ABOVE) return row;
  return chunksOf(row, Math.max(RUN_CHUNK, Math.round(count / CHUNKS)), first, period, cutRun);
}

function chunksOf<T>(
  row: readonly Fold<T>[],
  repetitions: number,
  first: number,
  period: number,
  cutAgain: (row: readonly Fold<T>[], first: number, period: number) => readonly Fold<T>[],
): readonly Fold<T>[] {
  const size = repetitions * period;
  const chunks: Fold<T>[] = [];
  for (let at = 0; at < row.length; at += size) {
    const part = row.slice(at, at + size);
    const from = first + at / period;
    const to = from + Math.ceil(part.length / period) - 1;
    chunks.push({
      kind: "chunk",
      run: { period, count: to - from + 1 },
      from,
      to,
      ends: endsOf(part, period),
      children: cutAgain(part, from, period),
    });
  }
  return chunks;
}

function endsOf<T>(row: readonly Fold<T>[], period: number): Ends<T> {
  return { first: row.slice(0, period).flatMap(firstOf), last: row.slice(-period).flatMap(firstOf) };
}

function firstOf<T>(fold: Fold<T>): readonly T[] {
  return fold.kind === "one" ? [fold.sibling] : fold.ends.first;
}
