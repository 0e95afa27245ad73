// Keys that work anywhere in the panel, except where a control has its own use for them.

import { listen, type Dispose } from "../base/disposer";
import { stagesAt } from "../model/recorded/run";
import { chooseEdge, chooseStage, moveSteps, reveal, toggleGroup } from "../state/actions";
import { startComparing, stopComparing } from "../state/compare_actions";
import { moveRow, showEverything, showView, toggleRows, zoomColumns, zoomRows } from "../state/flow_actions";
import { setFollow } from "../state/live_actions";
import type { Store } from "../state/store";
import { turnUses } from "../state/uses";
import type { Flowing } from "./flow/flow_data";
import { togglePlay } from "./toolbar/steps";

const OWN_KEYS = "input, select, textarea, [contenteditable]";

interface Zoomable {
  readonly fit: () => void;
  readonly zoomBy: (factor: number) => void;
}

// Keys that press what is on the screen, by selector; what is not there has none.
const byId = (id: string): string => `[data-testid=${id}]`;
const PRESSED: Readonly<Record<string, string>> = {
  "?": byId("help"), n: byId("findings"), o: byId("colors"), s: byId("take-away"), e: byId("expand-all"), E: byId("collapse-all"),
  d: `${byId("direction")} [aria-checked=false]`, 1: byId("view-graph"), 2: byId("view-flow"), 3: byId("view-charts"),
};

export function watchKeyboard(place: HTMLElement, store: Store, flowing: Flowing, view: Zoomable): Dispose {
  return listen<KeyboardEvent>(document, "keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = event.target instanceof Element ? event.target : undefined;
    if (event.key === "Escape") chooseEdge(store, undefined);
    else if (target?.closest(OWN_KEYS) != null) return;
    else if (!(store.view.value === "flow" && actOnFlow(store, flowing, event, target)) && !act(store, event, target, view) && !pressIn(place, event.key)) return;
    event.preventDefault();
  });
}

// Tells whether the key meant something.
function act(store: Store, event: KeyboardEvent, target: Element | undefined, view: Zoomable): boolean {
  const stride = event.shiftKey ? 10 : 1;
  const item = target?.closest<HTMLElement>("[role=treeitem]") ?? undefined;
  switch (event.key) {
    case "ArrowLeft": moveSteps(store, -stride); return true;
    case "ArrowRight": moveSteps(store, stride); return true;
    case "Home": moveSteps(store, -Infinity); return true;
    case "End": moveSteps(store, Infinity); return true;
    case "f": view.fit(); return true;
    case "+": case "=": view.zoomBy(1.3); return true;
    case "-": view.zoomBy(1 / 1.3); return true;
    case "g": showView(store, store.view.value === "graph" ? "flow" : "graph"); return true;
    case "t": return nextStage(store);
    case "c": return toggleComparing(store);
    case "u": return store.view.value === "graph" && store.selected.value !== undefined && turnUses(store, store.selected.value);
    case "l": if (!store.alone) setFollow(store, !store.follow.value); return !store.alone;
    case "Enter": return enter(store, item, target);
    case " ":
      if (target?.closest("button") != null) return false;
      // In a tree, Space selects.
      if (item === undefined) togglePlay(store);
      else store.selected.value = item.dataset.key;
      return true;
    default: return false;
  }
}

function pressIn(place: HTMLElement, key: string): boolean {
  const selector = key === "/" ? byId("find") : Object.hasOwn(PRESSED, key) ? PRESSED[key]! : undefined;
  const control = selector === undefined ? null : place.querySelector<HTMLElement>(selector);
  if (key === "/") control?.focus();
  else control?.click();
  return control !== null;
}

function nextStage(store: Store): boolean {
  const ref = store.ref.value;
  const stages = ref === undefined ? [] : stagesAt(store.tag.value?.records ?? [], ref.step);
  if (ref === undefined || stages.length < 2) return false;
  chooseStage(store, stages[(stages.indexOf(ref.stage) + 1) % stages.length]!);
  return true;
}

function toggleComparing(store: Store): boolean {
  if (store.view.value === "charts") return false;
  if (store.compare.choice.value === undefined) startComparing(store);
  else stopComparing(store);
  return true;
}

// Enter opens or closes a group, or the module of a selected node that is all of it; on a node in the tree it selects it.
function enter(store: Store, item: HTMLElement | undefined, target: Element | undefined): boolean {
  if (target?.closest("button, summary") != null) return false;
  const key = item?.dataset.key ?? store.selected.value;
  if (key === undefined) return false;
  if (store.hierarchy.value?.groupOf.has(key) === true) toggleGroup(store, key);
  else if (item === undefined) toggleGroup(store, key);
  else reveal(store, key);
  return true;
}

const ZOOM = 1.5;

// Keys of the heat map; where they mean nothing to it, they mean what they do in the graph.
function actOnFlow(store: Store, flowing: Flowing, event: KeyboardEvent, target: Element | undefined): boolean {
  const { columns, rows } = flowing.sight.peek();
  const stride = event.shiftKey ? 10 : 1;
  const column = flowing.position.peek() ?? (columns.from + columns.to) / 2;
  const row = flowing.row.peek() === -1 ? (rows.from + rows.to) / 2 : flowing.row.peek() + 0.5;
  switch (event.key) {
    case "ArrowUp": moveRow(store, flowing.rows.peek(), -stride); return true;
    case "ArrowDown": moveRow(store, flowing.rows.peek(), stride); return true;
    case "+": case "=": zoomColumns(store, columns, ZOOM, column); return true;
    case "-": zoomColumns(store, columns, 1 / ZOOM, column); return true;
    case "]": zoomRows(store, rows, ZOOM, row); return true;
    case "[": zoomRows(store, rows, 1 / ZOOM, row); return true;
    case "f": showEverything(store); return true;
    case "Enter": {
      const id = flowing.rows.peek()[flowing.row.peek()]?.id;
      if (id === undefined || target?.closest("button, summary") != null) return false;
      toggleRows(store, flowing.rows.peek(), rows, id);
      return true;
    }
    default: return false;
  }
}
