// Keeps the marks of the story in the browser, and shows those whose training is in this log.

import { batch, effect } from "@preact/signals";
import { Disposer, type Dispose } from "../../base/disposer";
import type { Run } from "../../model/recorded/run";
import { linkOf, parseAddress } from "../../state/address";
import type { Store } from "../../state/store";
import { MOST_MARKS, newMarkId, readMarks, type Mark, type Marked } from "../../state/story";
import { trainingOf } from "./follow_findings";

const KEPT_STORY = "gradgraph.story";
const MOST_KEPT_MARKS = 300; // of all logs that this TensorBoard's address has shown

export function followStory({ recorded, story }: Store): Dispose {
  const disposer = new Disposer();
  const known = new Set<string>(); // ids that were in the list: if they are gone, they were removed
  let written = "";
  disposer.add(
    effect(() => {
      const [trainings, linked] = [trainingsIn(recorded.runs.value), story.linked.value];
      if (trainings.size === 0) return;
      const here = new Set(trainings.values());
      const kept = readKeptMarks().filter(({ id, training }) => here.has(training) && !known.has(id));
      const before = [...story.marks.peek(), ...kept];
      const arrived = linked.filter((one) => !before.some((mark) => isSame(mark, one))).map((one) => markFrom(one, trainings));
      if (kept.length + arrived.length + linked.length === 0) return;
      batch(() => {
        story.linked.value = [];
        story.marks.value = [...before, ...arrived].slice(0, MOST_MARKS);
      });
    }),
  );
  disposer.add(
    effect(() => {
      const marks = story.marks.value;
      for (const { id } of marks) known.add(id);
      const text = JSON.stringify(marks);
      if (known.size > 0 && text !== written) keepMarks(marks, known);
      written = text;
    }),
  );
  return () => disposer.dispose();
}

// The training of each run and tag.
function trainingsIn(runs: readonly Run[]): ReadonlyMap<string, string> {
  return new Map(runs.flatMap(({ run, tags }) => tags.map((tag) => [`${run}\n${tag.tag}`, trainingOf(run, tag)] as const)));
}

// A link may lag behind: the address is written some time after a line was typed.
function isSame(kept: Mark, linked: Marked): boolean {
  if (kept.id === linked.id) return kept.line.startsWith(linked.line);
  return kept.line === linked.line && kept.link === linked.link;
}

function markFrom(marked: Marked, trainings: ReadonlyMap<string, string>): Mark {
  const { run, tag } = parseAddress(linkOf(marked.link));
  return { ...marked, id: newMarkId(), training: trainings.get(`${run}\n${tag}`) ?? "" };
}

// A page that is embedded elsewhere may have no storage.
export function readKeptMarks(): readonly Mark[] {
  try {
    return readMarks(window.localStorage.getItem(KEPT_STORY));
  } catch {
    return [];
  }
}

// Those of other logs, and those that another window has added, stay.
function keepMarks(marks: readonly Mark[], known: ReadonlySet<string>): void {
  try {
    const others = readKeptMarks().filter(({ id }) => !known.has(id));
    const all = [...others, ...marks.filter(({ training }) => training !== "")];
    window.localStorage.setItem(KEPT_STORY, JSON.stringify(all.slice(-MOST_KEPT_MARKS)));
  } catch {
    // Then they are forgotten when the page is closed.
  }
}
