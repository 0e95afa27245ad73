import { afterAll, expect, test } from "vitest";
import { chain, states, transformer } from "../../fixtures/examples.mjs";
import { contains, type Rect } from "../../src/base/geometry";
import { sizesOf } from "../../src/draw/scene/box_sizes";
import { LayoutEngine } from "../../src/layout/engine";
import type { Laid } from "../../src/layout/places/laid_out";
import { requestOf } from "../../src/layout/places/request";
import { stackBoxes } from "../../src/layout/stack";
import { showGraph, type VisibleGraph } from "../../src/model/visible/collapse";
import { openUpTo } from "../../src/model/visible/opening";
import { hierarchyOf, type FixtureRun } from "../fixture";

const engine = new LayoutEngine();
afterAll(() => engine.close());

async function layOut(run: FixtureRun, boxes: number, key: string): Promise<{ visible: VisibleGraph; layout: Laid }> {
  const hierarchy = hierarchyOf(run);
  const visible = showGraph(hierarchy, openUpTo(hierarchy, boxes));
  const reply = await engine.layOut(key, visible, () => sizesOf(hierarchy, visible));
  if (!reply.ok) throw new Error(reply.error);
  return { visible, layout: reply.value };
}

function checkLayout({ visible, layout }: { visible: VisibleGraph; layout: Laid }): void {
  visible.boxes.forEach(({ parent }, i) => {
    const rect = layout.boxes[i]!;
    expect(Object.values(rect).every(Number.isFinite)).toBe(true);
    if (parent !== -1) expect(inside(rect, layout.boxes[parent]!)).toBe(true);
    visible.boxes.forEach((other, j) => {
      const rows = [visible.holder[i], visible.holder[j]];
      if (j > i && other.parent === parent && rows[0] === rows[1]) expect(apart(rect, layout.boxes[j]!)).toBe(true);
    });
  });
  for (const path of layout.edges) expect(path.length).toBeGreaterThanOrEqual(2);
}

const inside = (inner: Rect, outer: Rect): boolean =>
  contains(outer, inner) && contains(outer, { x: inner.x + inner.width, y: inner.y + inner.height });
const apart = (a: Rect, b: Rect): boolean => a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;

test("boxes are inside their groups and do not overlap; data runs downward", async () => {
  const laid = await layOut(states(), 100, "states");
  checkLayout(laid);
  laid.layout.edges.forEach((path, edge) => {
    if (laid.visible.holder[laid.visible.edges[edge]!.source] === -1) expect(path[0]!.y).toBeLessThan(path.at(-1)!.y);
  });
});

test("edges start and end at the borders of their boxes", async () => {
  const { visible, layout } = await layOut(transformer(2, 1), 100, "ends");
  visible.edges.forEach(({ source, target }, i) => {
    const grown = (rect: Rect): Rect => ({ x: rect.x - 1, y: rect.y - 1, width: rect.width + 2, height: rect.height + 2 });
    expect(contains(grown(layout.boxes[source]!), layout.edges[i]![0]!)).toBe(true);
    expect(contains(grown(layout.boxes[target]!), layout.edges[i]!.at(-1)!)).toBe(true);
  });
});

test("equal graphs have equal layouts; a known key is not laid out again", async () => {
  const first = await layOut(transformer(12, 1), 60, "a");
  const again = await layOut(transformer(12, 1), 60, "b");
  expect(again.layout).toEqual(first.layout);
  expect((await layOut(transformer(12, 1), 60, "a")).layout).toBe(first.layout);
});

test("the most boxes that are ever shown are laid out in a few seconds", async () => {
  const began = performance.now();
  const { visible } = await layOut(transformer(48, 1), 500, "many");
  expect(visible.boxes.length).toBeGreaterThan(300);
  expect(performance.now() - began).toBeLessThan(10_000);
});

test("a chain of 5,000 operations with one weight is laid out, folded", async () => {
  checkLayout(await layOut(chain(5000), 60, "chain"));
});

test("the fallback layout keeps boxes inside their groups", () => {
  const hierarchy = hierarchyOf(states());
  const visible = showGraph(hierarchy, openUpTo(hierarchy, 100));
  checkLayout({ visible, layout: stackBoxes(requestOf(visible, sizesOf(hierarchy, visible), 0)) });
});

test("an engine that was closed before a layout began starts no worker, and a running layout is stopped", async () => {
  const kind = window.Worker;
  let started = 0;
  window.Worker = new Proxy(kind, { construct: (target, given) => ((started += 1), Reflect.construct(target, given) as Worker) });
  const closed = new LayoutEngine();
  const hierarchy = hierarchyOf(states());
  const visible = showGraph(hierarchy, openUpTo(hierarchy, 100));
  const ask = (key: string): Promise<{ readonly ok: boolean }> => closed.layOut(key, visible, () => sizesOf(hierarchy, visible));
  const running = ask("runs");
  await Promise.resolve(); // the first layout begins
  const waiting = ask("waits");
  closed.close();
  expect([(await running).ok, (await waiting).ok]).toEqual([false, false]);
  window.Worker = kind;
  expect(started).toBe(1);
});
