import { afterAll, expect, test } from "vitest";
import { chain, recurrent, transformer } from "../../fixtures/examples.mjs";
import { contains, type Point, type Rect } from "../../src/base/geometry";
import { Panning } from "../../src/draw/camera/panning";
import { sizeOf } from "../../src/draw/graph/caption";
import { paint, type View } from "../../src/draw/graph/painter";
import type { Paints } from "../../src/draw/graph/paints";
import { buildScene, type Scene } from "../../src/draw/graph/scene";
import { paintScene } from "../../src/draw/graph/step_paints";
import { makeScale } from "../../src/draw/style/color_scale";
import { LIGHT } from "../../src/draw/style/theme";
import { intoColumns } from "../../src/layout/columns";
import { LayoutEngine } from "../../src/layout/engine";
import type { LaidOut } from "../../src/layout/laid_out";
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
  const reply = await engine.layOut(`${run.run} ${most}`, visible, () => visible.boxes.map((box) => sizeOf(hierarchy, box)), onPart);
  if (!reply.ok) throw new Error(reply.error);
  return { hierarchy, visible, layout: reply.value };
}

const corners = ({ x, y, width, height }: Rect): readonly Point[] => [
  { x, y },
  { x: x + width, y: y + height },
];
const grown = ({ x, y, width, height }: Rect): Rect => ({ x: x - 1, y: y - 1, width: width + 2, height: height + 2 });
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
    siblings.set(parent, [...(siblings.get(parent) ?? []), i]);
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

test("a column is broken where no box is, and its edges lead around without crossing a box", () => {
  const rects = Array.from({ length: 30 }, (_, i) => ({ x: 20, y: 40 + 140 * i, width: 100, height: 100 }));
  const skip = [
    { x: 10, y: 0 },
    { x: 10, y: 4240 },
  ];
  const paths = [
    ...rects.slice(1).map(({ y }) => [
      { x: 70, y: y - 40 },
      { x: 70, y },
    ]),
    skip,
  ];
  const {
    rects: moved,
    paths: led,
    size,
    ports,
  } = intoColumns({ size: { width: 140, height: 4240 }, ports: [skip[0]!, skip[1]!], rects, paths }, 30);
  expect(new Set(moved.map(({ x }) => x)).size).toBeGreaterThan(2);
  expect(size.height).toBeLessThan(2000);
  for (const rect of moved) for (const corner of corners(rect)) expect(contains({ x: 0, y: 0, ...size }, corner)).toBe(true);
  const inside = ({ x, y, width, height }: Rect): Rect => ({ x: x + 1, y: y + 1, width: width - 2, height: height - 2 });
  for (const path of led) {
    path.slice(1).forEach(({ x, y }, i) => {
      const before = path[i]!;
      const piece = { x: Math.min(x, before.x), y: Math.min(y, before.y), width: Math.abs(x - before.x), height: Math.abs(y - before.y) };
      expect(moved.every((rect) => apart(inside(rect), piece))).toBe(true);
    });
  }
  expect(led.at(-1)!.at(-1)).toEqual(ports[1]);
});

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
