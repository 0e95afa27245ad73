// The story: views that the user marked, each with a line, to go back to and to hand on.

import { batch, signal, type Signal } from "@preact/signals";

// A label and its text, such as "Step" and "12".
export type Fact = readonly [label: string, text: string];

// What a link holds of a mark.
export interface Marked {
  readonly id?: string; // links of earlier versions have none
  readonly line: string;
  readonly link: string; // our keys of the address, without their prefix
  readonly facts: readonly Fact[]; // as they were when it was marked
}

export interface Mark extends Marked {
  readonly id: string;
  readonly training: string; // whose view it is; "": not known, so it is not kept
}

export interface StoryState {
  readonly marks: Signal<readonly Mark[]>;
  readonly linked: Signal<readonly Marked[]>; // from a link, until the runs are known
  readonly removed: Signal<{ readonly mark: Mark; readonly at: number } | undefined>; // the last one, which can come back
  readonly open: Signal<boolean>; // whether the list is shown
  readonly asked: Signal<boolean>; // the list marks the shown view as soon as it is there
}

export const MOST_MARKS = 50;
export const LONGEST_LINE = 300;
const LONGEST_MARK_LINK = 6000;
const MOST_FACTS = 20;
const LONGEST_FACT = 300;
const MARK_ID = /^[0-9a-z]{1,12}-[0-9a-z]{1,8}$/;
// Longer stories are left out of the address, because they make a link unreadable.
const LONGEST_LINKED = 3000;

export function createStory(): StoryState {
  return {
    marks: signal<readonly Mark[]>([]),
    linked: signal<readonly Marked[]>([]),
    removed: signal(undefined),
    open: signal(false),
    asked: signal(false),
  };
}

// Opens the list, which then marks the shown view.
export function askForMark(story: StoryState): void {
  batch(() => (story.open.value = story.asked.value = true));
}

// Returns whether there was room for it.
export function addMark(story: StoryState, mark: Mark): boolean {
  if (story.marks.peek().length >= MOST_MARKS) return false;
  story.marks.value = [...story.marks.peek(), mark];
  return true;
}

export function changeMark(story: StoryState, id: string, change: Partial<Omit<Mark, "id">>): void {
  story.marks.value = story.marks.peek().map((mark) => (mark.id === id ? { ...mark, ...change } : mark));
}

// Moves it by so many places; stays within the list.
export function moveMark(story: StoryState, id: string, by: number): void {
  const marks = story.marks.peek();
  const at = marks.findIndex((mark) => mark.id === id);
  const to = Math.max(0, Math.min(marks.length - 1, at + by));
  if (at !== -1 && to !== at) story.marks.value = withMark(without(marks, id), marks[at]!, to);
}

export function removeMark(story: StoryState, id: string): void {
  const at = story.marks.peek().findIndex((mark) => mark.id === id);
  const mark = story.marks.peek()[at];
  if (mark === undefined) return;
  batch(() => {
    story.removed.value = { mark, at };
    story.marks.value = without(story.marks.peek(), id);
  });
}

export function bringBack(story: StoryState): void {
  const removed = story.removed.peek();
  if (removed === undefined) return;
  batch(() => {
    story.removed.value = undefined;
    story.marks.value = withMark(story.marks.peek(), removed.mark, removed.at).slice(0, MOST_MARKS);
  });
}

const without = (marks: readonly Mark[], id: string): readonly Mark[] => marks.filter((mark) => mark.id !== id);
const withMark = (marks: readonly Mark[], mark: Mark, at: number): readonly Mark[] => [...marks.slice(0, at), mark, ...marks.slice(at)];

export function newMarkId(): string {
  return `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 10)}`;
}

// As one value of a link; undefined: there are none, or they are too long.
export function linkedText(marks: readonly Marked[]): string | undefined {
  if (marks.length === 0) return undefined;
  const text = JSON.stringify(marks.map(({ line, link, facts, id }) => [line, link, facts, id]));
  return text.length > LONGEST_LINKED ? undefined : text;
}

// What others wrote into a link may be anything.
export function readLinked(text: string | undefined): readonly Marked[] {
  const found = parsed(text ?? "[]");
  return found.flatMap((one) => (Array.isArray(one) ? marked(one[0], one[1], one[2], one[3]) : [])).slice(0, MOST_MARKS);
}

// Marks that the browser kept.
export function readMarks(text: string | null): readonly Mark[] {
  return parsed(text ?? "[]").flatMap((one) => {
    if (typeof one !== "object" || one === null) return [];
    const { id, training, line, link, facts } = one as Record<string, unknown>;
    if (typeof id !== "string" || typeof training !== "string") return [];
    return marked(line, link, facts).map((mark) => ({ ...mark, id, training }));
  });
}

function parsed(text: string): readonly unknown[] {
  try {
    const found: unknown = JSON.parse(text);
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}

function marked(line: unknown, link: unknown, facts: unknown, id?: unknown): readonly Marked[] {
  if (typeof line !== "string" || typeof link !== "string" || link.length > LONGEST_MARK_LINK) return [];
  const known = Array.isArray(facts) ? facts.flatMap(factOf).slice(0, MOST_FACTS) : [];
  const own = typeof id === "string" && MARK_ID.test(id) ? { id } : {};
  return [{ line: line.slice(0, LONGEST_LINE), link, facts: known, ...own }];
}

function factOf(one: unknown): readonly Fact[] {
  if (!Array.isArray(one) || typeof one[0] !== "string" || typeof one[1] !== "string") return [];
  return [limited([one[0], one[1]])];
}

export function limited([label, text]: Fact): Fact {
  return [label.slice(0, LONGEST_FACT), text.length > LONGEST_FACT ? `${text.slice(0, LONGEST_FACT - 1)}…` : text];
}
