// Makes a mark of the shown view: its link, what it shows in words and numbers, its picture.

import { valueText } from "../../draw/scene/caption";
import { spokenIn } from "../../model/recorded/complex";
import { halfOf, noneWord, nounOf } from "../../model/recorded/record";
import { BACKWARD, runTitle } from "../../model/recorded/run";
import { titleOf } from "../../model/recorded/titles";
import type { State } from "../../model/visible/values";
import { formatAddress, PREFIX } from "../../state/address";
import { thereText } from "../../state/compare";
import type { Store } from "../../state/store";
import { addMark, changeMark, limited, LONGEST_LINE, MOST_MARKS, newMarkId, type Fact, type Mark, type Marked } from "../../state/story";
import { pngOf } from "../picture/picture";
import { trainingOf } from "../session/follow_findings";
import { addressOf } from "../session/shown_address";
import type { Views } from "../view/views";
import { keepPicture } from "./picture_shelf";

const MOST_PICTURE_PIXELS = 2_000_000;

// Calls back with the id of the new mark, before its picture is there.
export async function markView(store: Store, views: Views, onAdded: (id: string) => void): Promise<void> {
  const [seen, picture] = [describeView(store, views), pictureOf(views)];
  const mark: Mark = { ...seen, id: newMarkId(), training: trainingShown(store) };
  if (!addMark(store.story, mark)) {
    store.shown.notice.value = `A story holds at most ${MOST_MARKS} marks. Delete one first.`;
    return;
  }
  onAdded(mark.id);
  await shelve(store, mark.id, picture);
}

// The mark keeps its line, and gets the shown view.
export async function renewMark(store: Store, views: Views, id: string): Promise<void> {
  const [{ link, facts }, picture] = [describeView(store, views), pictureOf(views)];
  changeMark(store.story, id, { link, facts, training: trainingShown(store) });
  await shelve(store, id, picture);
}

function trainingShown({ place }: Store): string {
  const [run, tag] = [place.run.peek()?.run, place.tag.peek()];
  return run === undefined || tag === undefined ? "" : trainingOf(run, tag);
}

async function shelve(store: Store, id: string, picture: Promise<string | undefined>): Promise<void> {
  try {
    await keepPicture(id, picture);
  } catch (error) {
    store.shown.notice.value = `The mark has no picture. ${String(error)}`;
  }
}

async function pictureOf(views: Views): Promise<string | undefined> {
  const painted = await views.shown.peek().picture?.();
  if (painted === undefined || painted.size.width < 1 || painted.size.height < 1) return undefined;
  const blob = await pngOf(painted.size, painted.paint, MOST_PICTURE_PIXELS);
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error("It could not be read."));
    reader.readAsDataURL(blob);
  });
}

// The step is always named, because the last step moves on. Colors and findings are not of this view alone.
export function describeView(store: Store, views: Views): Marked {
  const address = { ...addressOf(store), step: store.place.ref.peek()?.step, follow: undefined };
  const own = { ...address, purpose: undefined, colors: undefined, marks: undefined };
  const link = formatAddress("", own, views.writeLink())
    .split("&")
    .map((part) => part.slice(PREFIX.length))
    .join("&");
  const ofView = views.shown.peek().facts?.() ?? [];
  const title = selectedTitle(store);
  const span = ofView.find(([label]) => label === "Steps")?.[1];
  const when = span === undefined ? `step ${store.place.ref.peek()?.step}` : `steps ${span}`;
  const line = title === undefined ? `${when[0]!.toUpperCase()}${when.slice(1)}` : `${title}, ${when}`;
  const facts = [["View", views.shown.peek().text] as const, ...factsOf(store, title), ...ofView];
  return { line: line.slice(0, LONGEST_LINE), link, facts: facts.map(limited) };
}

function factsOf(store: Store, title: string | undefined): readonly Fact[] {
  const { place, shown, recorded, compare } = store;
  const [ref, there] = [place.ref.peek(), compare.place.peek()];
  const stage = ref === undefined || ref.stage === BACKWARD ? "" : `, ${ref.stage}`;
  const pass = ref === undefined || ref.backwardPass === 0 ? "" : `, backward pass ${ref.backwardPass + 1}`;
  const statistic = spokenIn(shown.statistic.peek(), recorded.hierarchy.peek()?.graph).label;
  const number = selectedNumber(store);
  return [
    ["Run", runTitle(place.run.peek()?.run)],
    ["Graph", place.tag.peek()?.tag ?? ""],
    ["Step", ref === undefined ? "" : `${ref.step}${stage}${pass}`],
    ["Statistic", `${nounOf(recorded.record.peek()?.stage)}, ${statistic}`],
    ...(title === undefined ? [] : [["Node", nodeText(store, title)] as const]),
    ...(number === undefined ? [] : [[statistic, number] as const]),
    ...(there === undefined ? [] : [["Compared with", `${thereText(compare.places.peek(), " · ")} · step ${there.ref.step}`] as const]),
  ];
}

function selectedTitle({ shown, recorded }: Store): string | undefined {
  const [id, hierarchy] = [shown.selected.peek(), recorded.hierarchy.peek()];
  if (id === undefined || hierarchy === undefined) return undefined;
  const [group, node] = [hierarchy.groupOf.get(id), hierarchy.graph.columns.nodes.key.indexOf(id)];
  if (group !== undefined) return hierarchy.groups[group]!.title;
  return node === -1 ? undefined : titleOf(hierarchy.graph, node);
}

// With its full name, if the title is not the end of it.
function nodeText({ shown, recorded }: Store, title: string): string {
  const [id, hierarchy] = [shown.selected.peek()!, recorded.hierarchy.peek()!];
  const node = hierarchy.graph.columns.nodes.key.indexOf(id);
  const name = node === -1 ? id.replace(/#\d+$/, "") : hierarchy.graph.columns.nodes.name[node]!;
  return name === "" || name === title ? title : `${title} (${name})`;
}

function selectedNumber({ shown, recorded }: Store): string | undefined {
  const [id, hierarchy, values] = [shown.selected.peek(), recorded.hierarchy.peek(), shown.values.peek()];
  if (id === undefined || hierarchy === undefined || values === undefined) return undefined;
  const [group, node] = [hierarchy.groupOf.get(id), hierarchy.graph.columns.nodes.key.indexOf(id)];
  if (group === undefined && node === -1) return undefined;
  const [of, at] = group === undefined ? [values.nodes, node] : [values.groups, group];
  const none = noneWord(halfOf(recorded.record.peek()?.stage));
  const text = valueText(of.value[at]!, of.state[at]! as State) ?? none;
  return group === undefined || text === none ? text : `${values.groupWord} ${text}`;
}
