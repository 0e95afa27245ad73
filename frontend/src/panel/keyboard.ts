// Keys that work anywhere in the panel, except where a control has its own use for them.

import { listen, type Dispose } from "../base/disposer";
import { stagesAt } from "../model/recorded/run";
import { chooseEdge, chooseStage, moveSteps, reveal, toggleGroup } from "../state/actions";
import { startComparing, stopComparing } from "../state/compare_actions";
import { setFollow } from "../state/live_actions";
import type { Store } from "../state/store";
import { askForMark } from "../state/story";
import { togglePlay } from "./toolbar/steps";
import type { Views } from "./view/views";

const OWN_KEYS = "input, select, textarea, [contenteditable]";

// Keys that press a control on the screen, by selector. They do nothing if the control does not
// exist. The key of a view is the number of its place.
const byId = (id: string): string => `[data-testid=${id}]`;
const PRESSED: ReadonlyMap<string, string> = new Map([
  ["?", byId("help")],
  ["n", byId("findings")],
  ["o", byId("colors")],
  ["s", byId("take-away")],
  ["e", byId("expand-all")],
  ["E", byId("collapse-all")],
  ["d", `${byId("direction")} [aria-checked=false]`],
]);

export function watchKeyboard(place: HTMLElement, store: Store, views: Views): Dispose {
  return listen<KeyboardEvent>(document, "keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = event.target instanceof Element ? event.target : undefined;
    if (event.key === "Escape") leave(place, store, target);
    else if (target?.closest(OWN_KEYS) != null) return;
    else if (!views.shown.value.press?.(event, target) && !act(store, event, target, views) && !pressIn(place, event.key, views)) return;
    event.preventDefault();
  });
}

// Escape closes the comparison from its own bar, and else the card.
function leave(place: HTMLElement, store: Store, target: Element | undefined): void {
  if (target?.closest(byId("compare-bar")) == null) return chooseEdge(store, undefined);
  stopComparing(store);
  place.querySelector<HTMLElement>(byId("compare"))?.focus();
}

// Returns whether the key meant something.
function act(store: Store, event: KeyboardEvent, target: Element | undefined, views: Views): boolean {
  const stride = event.shiftKey ? 10 : 1;
  const item = target?.closest<HTMLElement>("[role=treeitem]") ?? undefined;
  switch (event.key) {
    case "ArrowLeft":
      moveSteps(store, -stride);
      return true;
    case "ArrowRight":
      moveSteps(store, stride);
      return true;
    case "Home":
      moveSteps(store, -Infinity);
      return true;
    case "End":
      moveSteps(store, Infinity);
      return true;
    case "t":
      return nextStage(store);
    case "c":
      return views.shown.value.compares && toggleComparing(store);
    case "l":
      if (!store.alone) setFollow(store, !store.live.follow.value);
      return !store.alone;
    case "m":
      if (store.place.ref.peek() !== undefined) askForMark(store.story);
      return true;
    case "Enter":
      return enter(store, item, target);
    case " ":
      if (target?.closest("button") != null) return false;
      // In a tree, Space selects.
      if (item === undefined) togglePlay(store);
      else store.shown.selected.value = item.dataset.key;
      return true;
    default:
      return lead(views, event.key);
  }
}

function lead(views: Views, key: string): boolean {
  const view = views.behindKey(key);
  if (view !== undefined) views.show(view.id);
  return view !== undefined;
}

function pressIn(place: HTMLElement, key: string, views: Views): boolean {
  const view = views.all[Number(key) - 1];
  const pressed = view === undefined ? PRESSED.get(key) : byId(`view-${view.id}`);
  const selector = key === "/" ? byId("find") : pressed;
  const control = selector === undefined ? null : place.querySelector<HTMLElement>(selector);
  if (key === "/") control?.focus();
  else control?.click();
  return control !== null;
}

function nextStage(store: Store): boolean {
  const ref = store.place.ref.value;
  const stages = ref === undefined ? [] : stagesAt(store.place.tag.value?.records ?? [], ref.step);
  if (ref === undefined || stages.length < 2 || store.place.half.value === "value") return false;
  chooseStage(store, stages[(stages.indexOf(ref.stage) + 1) % stages.length]!);
  return true;
}

function toggleComparing(store: Store): boolean {
  if (store.compare.choice.value === undefined) startComparing(store);
  else stopComparing(store);
  return true;
}

// Enter opens or closes a group, or the module of a selected node if the module has no other node.
// On a node in the tree it selects the node.
function enter(store: Store, item: HTMLElement | undefined, target: Element | undefined): boolean {
  if (target?.closest("button, summary") != null) return false;
  const key = item?.dataset.key ?? store.shown.selected.value;
  if (key === undefined) return false;
  if (store.recorded.hierarchy.value?.groupOf.has(key) === true) toggleGroup(store, key);
  else if (item === undefined) toggleGroup(store, key);
  else reveal(store, key);
  return true;
}
