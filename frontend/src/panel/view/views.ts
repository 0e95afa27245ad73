// The views of a panel with their states, and which of them is shown.

import { batch, computed, type ReadonlySignal } from "@preact/signals";
import type { Dispose } from "../../base/disposer";
import { reveal } from "../../state/actions";
import type { LinkEntry } from "../../state/address";
import type { Store } from "../../state/store";
import type { Around, InCard, Shown, View } from "./view";

type Opened = View & Shown;

export interface Views {
  readonly all: readonly View[];
  readonly shown: ReadonlySignal<Opened>;
  readonly inCard: readonly InCard[];
  show(id: string): void;
  select(id: string): void; // in the shown view
  // Where the key leads; undefined: nowhere.
  behindKey(key: string): View | undefined;
  readLink(id: string | undefined, values: ReadonlyMap<string, string>): void;
  writeLink(): readonly LinkEntry[];
  readonly close: Dispose;
}

export function createViews(list: readonly View[], around: Omit<Around, "isShown" | "show" | "handOver">): Views {
  const { store } = around;
  const opened = list.map((view): Opened => {
    const isShown = computed(() => store.shown.view.value === idIn(list, view.id));
    return { ...view, ...view.create({ ...around, isShown, show: () => show(view.id), handOver: (to, ids) => handOver(to, ids) }) };
  });
  const handOver = (id: string, ids: readonly string[]): void =>
    batch(() => {
      // The selection would be drawn beside them.
      store.shown.selected.value = ids[0];
      show(id);
      for (const one of ids) opened.find((view) => view.id === id)?.select?.(one);
    });
  const shown = computed(() => opened.find(({ id }) => id === store.shown.view.value) ?? opened[0]!);
  const show = (id: string): void => enter(store, opened, id);
  return {
    all: list,
    shown,
    inCard: opened.flatMap(({ inCard }) => inCard ?? []),
    show,
    select(id) {
      const { select } = shown.peek();
      if (select === undefined) reveal(store, id);
      else select(id);
    },
    behindKey: (key) => list.find((view) => view.key === key && view.id !== shown.peek().id),
    readLink(id, values) {
      store.shown.view.value = idIn(list, id);
      for (const { link } of opened) link?.read(values);
    },
    writeLink: () => opened.flatMap(({ link }) => link?.write() ?? []),
    close() {
      for (const { close } of opened) close?.();
    },
  };
}

// In the form of the store: undefined for the first view, which a link need not name.
function idIn(list: readonly View[], id: string | undefined): string | undefined {
  return list.slice(1).find((view) => view.id === id)?.id;
}

function enter(store: Store, opened: readonly Opened[], id: string): void {
  batch(() => {
    store.shown.view.value = idIn(opened, id);
    const selected = store.shown.selected.peek();
    if (selected !== undefined) opened.find((view) => view.id === id)?.enter?.(selected);
  });
}
