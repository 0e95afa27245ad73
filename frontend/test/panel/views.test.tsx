// Views, whichever they are: keys, links, selections and ends reach them, and nothing else does.

import { expect, test } from "vitest";
import { Client } from "../../src/api/client";
import { LayoutEngine } from "../../src/layout/engine";
import { createDrawing } from "../../src/panel/session/drawing";
import type { Around, Shown, View } from "../../src/panel/view/view";
import { createViews } from "../../src/panel/view/views";
import { VIEWS } from "../../src/panel/view_list";
import type { LinkEntry } from "../../src/state/address";
import { createStore } from "../../src/state/store";

const told: string[] = [];

function made(id: string, more: (around: Around) => Partial<Shown> = () => ({}), key?: string): View {
  return {
    id,
    text: id,
    title: id,
    hasCard: false,
    compares: false,
    help: { keys: [], meanings: [] },
    ...(key === undefined ? {} : { key }),
    create: (around) => ({ Body: () => <p>{id}</p>, close: () => void told.push(`${id} ends`), ...more(around) }),
  };
}

function open(...list: readonly View[]) {
  told.length = 0;
  const store = createStore();
  const drawing = createDrawing(store, new LayoutEngine());
  return { store, views: createViews(list, { store, client: new Client(), drawing }) };
}

test("a key opens its view, and from there the next view with the same key", () => {
  const { views } = open(made("a", undefined, "x"), made("b", undefined, "x"), made("c"));
  const press = (): string => {
    views.show(views.behindKey("x")!.id);
    return views.shown.value.id;
  };
  expect([press(), press()]).toEqual(["b", "a"]);
  views.show("c");
  expect(press()).toBe("a");
  expect(views.behindKey("y")).toBeUndefined();
});

test("each view reads and writes its own part of a link; an unknown name is the first view", () => {
  const part = (name: string) => (): Partial<Shown> => {
    let now: string | undefined;
    return { link: { read: (values) => void (now = values.get(name)), write: (): readonly LinkEntry[] => [[name, now]] } };
  };
  const { store, views } = open(made("a"), made("b", part("b.x")), made("c", part("c.y")));
  views.readLink(
    "c",
    new Map([
      ["b.x", "1"],
      ["c.y", "2"],
      ["d", "3"],
    ]),
  );
  expect([views.shown.value.id, views.writeLink()]).toEqual([
    "c",
    [
      ["b.x", "1"],
      ["c.y", "2"],
    ],
  ]);
  views.readLink("gone", new Map());
  expect([views.shown.value.id, store.shown.view.value]).toEqual(["a", undefined]);
});

test("a view is told when it is shown, and what is selected then", () => {
  const { store, views } = open(
    made("a"),
    made("b", ({ isShown }) => ({
      enter: (selected) => void told.push(`enter ${selected} ${isShown.value}`),
      select: (id) => void told.push(`select ${id}`),
    })),
  );
  views.show("b");
  expect(told).toEqual([]);
  views.show("a");
  store.shown.selected.value = "n";
  views.show("b");
  views.select("m");
  views.close();
  expect(told).toEqual(["enter n true", "select m", "a ends", "b ends"]);
});

test("the panel's own views have names of their own", () => {
  const ids = VIEWS.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});
