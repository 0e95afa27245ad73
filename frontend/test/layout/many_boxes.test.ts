import { afterAll, expect, test } from "vitest";
import { activations, chain, recurrent, transformer } from "../../fixtures/examples.mjs";
import { boundsOf, contains, type Point, type Rect, type Size } from "../../src/base/geometry";
import { Panning } from "../../src/draw/camera/panning";
import { sizesOf } from "../../src/draw/scene/box_sizes";
import { paint, type View } from "../../src/draw/graph/painter";
import type { Paints } from "../../src/draw/scene/paints";
import { buildScene, type Scene } from "../../src/draw/scene/scene";
import { paintScene } from "../../src/draw/scene/step_paints";
import { makeScale } from "../../src/draw/style/color_scale";
import { LIGHT } from "../../src/draw/style/theme";
import { LayoutEngine } from "../../src/layout/engine";
import { leastHeight, partition } from "../../src/layout/levels/partition";
import type { LaidOut } from "../../src/layout/places/laid_out";
import { statisticOf } from "../../src/model/recorded/statistics";
import type { Hierarchy } from "../../src/model/tree/hierarchy";
import { showGraph, type VisibleGraph } from "../../src/model/visible/collapse";
import { openUpTo } from "../../src/model/visible/opening";
import { computeValues } from "../../src/model/visible/values";
import { hierarchyOf, recordAt, spread, type FixtureRun } from "../fixture";
import { press, useStage, waitFor } from "../stage";

const engine = new LayoutEngine();
afterAll(() => engine.close());
const stage = useStage();

interface Opened {
  readonly hierarchy: Hierarchy;
  readonly visible: VisibleGraph;
  readonly layout: LaidOut;
}

function opened(run: FixtureRun, most: number): Omit<Opened, "layout"> {
  const hierarchy = hierarchyOf(run);
  return { hierarchy, visible: showGraph(hierarchy, openUpTo(hierarchy, most)) };
}

async function laidOut(run: FixtureRun, most: number, onPart?: (part: number) => void): Promise<Opened> {
  const { hierarchy, visible } = opened(run, most);
  const reply = await engine.layOut(`${run.run} ${most}`, visible, () => sizesOf(hierarchy, visible), onPart);
  if (!reply.ok) throw new Error(reply.error);
  return { hierarchy, visible, layout: reply.value };
}

const corners = ({ x, y, width, height }: Rect): readonly Point[] => [
  { x, y },
  { x: x + width, y: y + height },
];
const grown = ({ x, y, width, height }: Rect, by = 1): Rect => ({ x: x - by, y: y - by, width: width + 2 * by, height: height + 2 * by });
const apart = (a: Rect, b: Rect): boolean => a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;

test.each([
  ["transformer", transformer(150, 1)],
  ["loop", recurrent(300, 1)],
  ["chain", chain(2500)],
])("a %s of thousands of boxes: inside their groups, apart, edges from border to border", async (_, run) => {
  const { visible, layout } = await laidOut(run, 10_000);
  expect(visible.boxes.length).toBeGreaterThan(1000);
  const siblings = new Map<number, number[]>();
  visible.boxes.forEach(({ parent }, i) => {
    if (parent !== -1) for (const corner of corners(layout.boxes[i]!)) expect(contains(layout.boxes[parent]!, corner)).toBe(true);
    if (visible.holder[i] === -1) siblings.set(parent, [...(siblings.get(parent) ?? []), i]);
  });
  for (const boxes of siblings.values()) {
    boxes.forEach((one, at) => boxes.slice(at + 1).forEach((other) => expect(apart(layout.boxes[one]!, layout.boxes[other]!)).toBe(true)));
  }
  visible.edges.forEach(({ source, target }, i) => {
    const path = layout.edges[i]!;
    expect(contains(grown(layout.boxes[source]!), path[0]!)).toBe(true);
    expect(contains(grown(layout.boxes[target]!), path.at(-1)!)).toBe(true);
    // Through ports and around columns every piece is level or plumb.
    path.slice(1).forEach(({ x, y }, at) => expect(Math.min(Math.abs(x - path[at]!.x), Math.abs(y - path[at]!.y))).toBeLessThan(0.01));
  });
  expect(layout.bounds.height / layout.bounds.width).toBeGreaterThan(0.25);
  expect(layout.bounds.height / layout.bounds.width).toBeLessThan(4);
});

test("equal layers have equal layouts", async () => {
  const { visible, layout } = await laidOut(transformer(60, 1), 10_000);
  const shapeOf = (block: number): string => {
    const group = visible.boxes.findIndex(({ id }) => id === `h.${block}#0`);
    const { x, y } = layout.boxes[group]!;
    return visible.boxes
      .flatMap(({ parent }, i) => (parent === group ? [`${layout.boxes[i]!.x - x},${layout.boxes[i]!.y - y}`] : []))
      .join(" ");
  };
  expect(shapeOf(21).length).toBeGreaterThan(0);
  expect(shapeOf(22)).toBe(shapeOf(21));
});

test("a long layout reports its progress, and ends when the next one begins", async () => {
  const parts: number[] = [];
  const first = laidOut(transformer(400, 1), 10_000, (part) => {
    parts.push(part);
    if (parts.length === 1) void laidOut(transformer(3, 1), 60).then((other) => expect(other.layout.boxes.length).toBeGreaterThan(0));
  });
  await expect(first).rejects.toThrow("stopped");
  expect(parts.every((part) => part > 0 && part <= 1)).toBe(true);
  // It is not kept as one that failed.
  expect((await laidOut(transformer(400, 1), 10_000)).layout.boxes.length).toBeGreaterThan(1000);
});

test("a level that is higher than the page is broken into columns that are read from the left; data runs down in each", async () => {
  const { hierarchy, visible } = opened(transformer(2, 1), 90);
  const sizes = (): readonly Size[] => sizesOf(hierarchy, visible);
  const [long, broken] = [await engine.layOut("long", visible, sizes), await engine.layOut("page", visible, sizes, undefined, 500)];
  if (!long.ok || !broken.ok) throw new Error("no layout");
  expect(long.value.bounds.height).toBeGreaterThan(2000);
  expect(broken.value.bounds.height).toBeLessThan(620);
  checkApart(visible, broken.value);
  visible.edges.forEach(({ source, target }, i) => {
    const path = broken.value.edges[i]!;
    expect(contains(grown(broken.value.boxes[source]!), path[0]!)).toBe(true);
    expect(contains(grown(broken.value.boxes[target]!), path.at(-1)!)).toBe(true);
    if (visible.holder[source] !== -1) return;
    const around = (box: number): Set<number> => {
      const found = new Set<number>();
      for (let at = box; at !== -1; at = visible.boxes[at]!.parent) found.add(at);
      return found;
    };
    const allowed = new Set([...around(source), ...around(target)]);
    path.slice(1).forEach((point, at) => {
      const piece = grown(boundsOf([path[at]!, point]), -1.5);
      expect(Math.min(Math.abs(point.x - path[at]!.x), Math.abs(point.y - path[at]!.y))).toBeLessThan(0.01);
      visible.boxes.forEach((box, other) => {
        // No line crosses a box to which it does not lead.
        if (!box.open && visible.holder[other] === -1 && !allowed.has(other)) expect(apart(broken.value.boxes[other]!, piece)).toBe(true);
      });
    });
  });
});

test("rows that follow a layer are in its box, and lines lead from the box to the next", async () => {
  const hierarchy = hierarchyOf(activations());
  const visible = showGraph(hierarchy, openUpTo(hierarchy, 100), true);
  const layout = await engine.layOut("rows", visible, () => sizesOf(hierarchy, visible), undefined, 500);
  if (!layout.ok) throw new Error(layout.error);
  const { boxes, edges } = layout.value;
  const at = (id: string): number => visible.boxes.findIndex((box) => box.id === id);
  const [layer, rows] = [at("0#0/MmBackward0.0"), ["parameter:0.weight", "1#0/SigmoidBackward0.0", "2#0/TanhBackward0.0"].map(at)];
  checkApart(visible, layout.value);
  rows.slice(1).forEach((row, i) => expect(boxes[row]!.y).toBeGreaterThan(boxes[rows[i]!]!.y + boxes[rows[i]!]!.height));
  const onward = edges[visible.edges.findIndex(({ source }) => source === rows[2])]!;
  expect(onward[0]!.y).toBeCloseTo(boxes[layer]!.y + boxes[layer]!.height);
  expect(onward.at(-1)!.y).toBeCloseTo(boxes[at("root:out")]!.y);
});

test("boxes are divided among as few columns as the page allows, of about equal height, in forward order", () => {
  const heights = Array.from({ length: 30 }, () => 100);
  const edges = heights.slice(1).map((_, i) => [i, i + 1] as const);
  const columns = partition({ heights, edges }, 1000, 12);
  const counts = new Map<number, number>();
  columns.forEach((column, box) => {
    if (box > 0) expect([0, 1]).toContain(column - columns[box - 1]!);
    counts.set(column, (counts.get(column) ?? 0) + 1);
  });
  // 7 boxes of 100 with gaps of 40 between them fit into 1000, 8 do not.
  expect(counts.size).toBe(Math.ceil(30 / Math.floor((1000 - 44 + 40) / 140)));
  expect(Math.max(...counts.values()) - Math.min(...counts.values())).toBeLessThanOrEqual(1);
  expect(partition({ heights, edges }, 1000, 2).at(-1)).toBe(1);
  expect(new Set(partition({ heights: [100, 100], edges: [] }, 150, 9))).toEqual(new Set([0]));
});

test("the least height of a level in one column is that of its longest path", () => {
  const edges = [
    [0, 1],
    [0, 2],
    [2, 3],
  ] as const;
  expect(leastHeight({ heights: [100, 500, 70, 30], edges }, 38)).toBe(100 + 38 + 500);
  expect(leastHeight({ heights: [100, 50, 70, 30], edges }, 38)).toBe(100 + 38 + 70 + 38 + 30);
  expect(leastHeight({ heights: [], edges: [] }, 38)).toBe(0);
});

function checkApart(visible: VisibleGraph, layout: LaidOut): void {
  visible.boxes.forEach(({ parent }, i) => {
    const by = visible.holder[i]!;
    const outer = by === -1 ? parent : by;
    if (outer !== -1) for (const corner of corners(layout.boxes[i]!)) expect(contains(layout.boxes[outer]!, corner)).toBe(true);
    visible.boxes.forEach((other, j) => {
      const isApart = j > i && other.parent === parent && by === visible.holder[j];
      if (isApart) expect(apart(layout.boxes[i]!, layout.boxes[j]!)).toBe(true);
    });
  });
}

function sceneOf({ hierarchy, visible, layout }: Opened, run: FixtureRun): { scene: Scene; paints: Paints } {
  const norm = statisticOf("l2_norm")!;
  const scene = buildScene(hierarchy, visible, layout);
  const record = recordAt(run, 0);
  return {
    scene,
    paints: paintScene(
      hierarchy,
      visible,
      scene,
      makeScale(norm, spread(1e-3, 1), LIGHT),
      norm,
      LIGHT,
      computeValues(hierarchy, record, norm),
      record,
    ),
  };
}

test.each([0.05, 0.15, 0.4, 1])("shifting what is painted gives the picture that painting it anew gives, at zoom %d", async (k) => {
  const run = transformer(40, 1);
  const { scene, paints } = sceneOf(await laidOut(run, 10_000), run);
  const size = { width: 500, height: 400 };
  const canvasOf = (): CanvasRenderingContext2D =>
    Object.assign(document.createElement("canvas"), size).getContext("2d", { alpha: false, willReadFrequently: true })!;
  const view = (x: number, y: number): View => ({
    camera: { x, y, k },
    size,
    pixelRatio: 1,
    backward: true,
    selected: 3,
    hovered: -1,
    edge: -1,
  });
  const [shifted, anew] = [canvasOf(), canvasOf()];
  const panning = new Panning();
  const places = [
    [0, 0],
    [-13, -7],
    [-40, 25],
    [-39, 25],
    [-700, -650],
  ] as const;
  for (const [x, y] of places) {
    panning.paint(shifted, scene, paints, LIGHT, view(x, y));
    paint(anew, scene, paints, LIGHT, view(x, y));
    const [one, other] = [shifted, anew].map((context) => context.getImageData(0, 0, size.width, size.height).data);
    let different = 0;
    one!.forEach((part, at) => (different += Number(Math.abs(part - other![at]!) > 40)));
    // A title whose place depends on what else is in sight may be anywhere.
    expect(different / one!.length).toBeLessThan(0.004);
  }
});

test("of thousands of boxes the tree holds a part, which follows the selection and the arrow keys", async () => {
  stage.show(transformer(150, 1));
  await stage.drawn("root:loss");
  stage.one("expand-all")?.click();
  await waitFor(() => expect(Number(stage.one("tree")?.dataset.boxes)).toBeGreaterThan(1000));
  const far = "h.75.attn#0";
  expect(stage.keys().length).toBeLessThan(520);
  expect(stage.keys()).not.toContain(far);
  await stage.find("h.75.attn", far);
  await waitFor(() => expect(stage.item(far).getAttribute("aria-selected")).toBe("true"));
  expect(stage.keys().length).toBeLessThan(520);
  await waitFor(() => expect(stage.item(far).dataset.color).toMatch(/^#/));
  const from = Number(stage.one("tree")?.dataset.from);
  const lastOfPart = stage.keys().at(-1)!;
  stage.item(lastOfPart).focus();
  press("ArrowDown", stage.item(lastOfPart));
  await waitFor(() => expect(stage.keys()[stage.keys().indexOf(lastOfPart) + 1]).toBe((document.activeElement as HTMLElement).dataset.key));
  expect(Number(stage.one("tree")?.dataset.from)).toBeGreaterThan(from);
});

test("colors of the part change with the step", async () => {
  stage.show(transformer(150, 3));
  await stage.drawn("root:loss");
  stage.one("expand-all")?.click();
  await waitFor(() => expect(Number(stage.one("tree")?.dataset.boxes)).toBeGreaterThan(1000));
  const key = "h.1#0";
  const [color, said] = [stage.item(key).dataset.color, stage.item(key).querySelector("span")?.textContent];
  press("Home");
  await waitFor(() => expect(stage.item(key).dataset.color).not.toBe(color));
  expect(stage.item(key).querySelector("span")?.textContent).not.toBe(said);
});

test("a long layout can be stopped: what was drawn stays, and can be opened again", async () => {
  stage.show(transformer(700, 1));
  await stage.drawn("root:loss");
  const before = stage.keys();
  stage.one("expand-all")?.click();
  await waitFor(() => {
    const button = stage.one("loading")?.querySelector("button");
    expect(button?.textContent).toBe("Stop");
    button!.click();
  });
  await waitFor(() => expect(stage.one("loading")).toBeNull());
  expect(stage.keys()).toEqual(before);
  stage.one("expand-all")?.click();
  await waitFor(() => expect(Number(stage.one("tree")?.dataset.boxes)).toBeGreaterThan(1000));
});
