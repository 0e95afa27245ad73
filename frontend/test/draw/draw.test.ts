import { describe, expect, test } from "vitest";
import { chainRule, marks, states } from "../../fixtures/examples.mjs";
import { bringIn, cameraAtPart, fitCamera, partInView, startCamera, toScreen, toWorld } from "../../src/draw/camera/camera";
import { Picker } from "../../src/draw/camera/picking";
import { paintCompared } from "../../src/draw/compare/compared_scene";
import { sizesOf } from "../../src/draw/scene/box_sizes";
import { detailRoom } from "../../src/draw/scene/caption";
import { paint } from "../../src/draw/graph/painter";
import type { Paints } from "../../src/draw/scene/paints";
import { buildScene, type Scene } from "../../src/draw/scene/scene";
import { paintScene } from "../../src/draw/scene/step_paints";
import { inkOn, luminance, makeScale, rampOf } from "../../src/draw/style/color_scale";
import { elementColor, rgbOf } from "../../src/draw/style/element_colors";
import { DETAIL_FONT, fitText, TITLE_FONT, widthOf } from "../../src/draw/style/text";
import { DARK, LIGHT, type Theme } from "../../src/draw/style/theme";
import { labelRect, placeLabels } from "../../src/layout/edge_labels";
import { addRows } from "../../src/layout/places/placed_rows";
import { requestOf } from "../../src/layout/places/request";
import { stackBoxes } from "../../src/layout/stack";
import { compare } from "../../src/model/compare/comparison";
import { joinGraphs } from "../../src/model/compare/joined";
import { statisticOf, statisticsFor } from "../../src/model/recorded/statistics";
import { showGraph } from "../../src/model/visible/collapse";
import { openUpTo } from "../../src/model/visible/opening";
import { computeValues, State } from "../../src/model/visible/values";
import { hierarchyOf, OWN, recordAt, spread, withOwn, type FixtureRun } from "../fixture";

const norm = statisticOf("l2_norm")!;

describe.each([
  ["light", LIGHT],
  ["dark", DARK],
] as const)("colors, %s", (_, theme) => {
  const scale = makeScale(norm, spread(1e-4, 1), theme);

  test("lightness changes in one direction along the ramp, away from the background", () => {
    const lights = rampOf(theme.dark).map(luminance);
    const steps = lights.slice(1).map((light, i) => light - lights[i]!);
    expect(steps.every((step) => (theme.dark ? step > -0.004 : step < 0.004))).toBe(true);
    const away = Math.abs(lights.at(-1)! - luminance(theme.background)) - Math.abs(lights[0]! - luminance(theme.background));
    expect(away).toBeGreaterThan(0.3);
  });

  test("NaN, zero, none and every number have different colors", () => {
    const special = [State.nonfinite, State.zero, State.none].map((state) => scale.fill(NaN, state));
    expect(new Set(special).size).toBe(3);
    for (const color of rampOf(theme.dark)) expect(special).not.toContain(color);
  });

  test("text contrasts with every fill (WCAG AA for its size)", () => {
    for (const fill of [...rampOf(theme.dark), theme.zero, theme.none, theme.nonfinite]) {
      const [a, b] = [luminance(fill), luminance(inkOn(fill, theme))].sort((x, y) => y - x);
      expect((a! + 0.05) / (b! + 0.05)).toBeGreaterThan(4.2);
    }
  });
});

test.each([
  ["light", LIGHT],
  ["dark", DARK],
] as const)("elements: two hues part at zero, full at the reach; NaN is neither, %s", (_, theme) => {
  const [below, zero, above] = theme.elements.map(rgbOf);
  expect([-2, 0, 2].map((value) => elementColor(value, 2, theme))).toEqual([below, zero, above]);
  expect(elementColor(0, 0, theme)).toEqual(zero);
  for (const value of [NaN, Infinity, -Infinity]) expect(elementColor(value, 2, theme)).toEqual(rgbOf(theme.nonfinite));
});

test("outliers do not stretch the scale, and its ends show them", () => {
  const norm = statisticOf("l2_norm")!;
  const scale = makeScale(norm, { domain: [3e-9, 2e10], fences: [0.5, 80] }, LIGHT);
  expect([scale.below, scale.above]).toEqual([true, true]);
  expect(scale.position(40) - scale.position(2)).toBeGreaterThan(0.5);
  expect([scale.position(3e-9), scale.position(2e10)]).toEqual([0, 1]);
  const calm = makeScale(norm, { domain: [1, 100], fences: [0.1, 1000] }, LIGHT);
  expect([calm.below, calm.above, ...calm.domain]).toEqual([false, false, 1, 100]);
});

test("equal numbers have equal colors at every step; a narrow domain is widened", () => {
  const scale = makeScale(norm, spread(1, 1), LIGHT);
  expect(scale.domain[1] / scale.domain[0]).toBeCloseTo(10);
  expect(makeScale(norm, spread(1e-45, 1), LIGHT).domain[0]).toBeCloseTo(1e-10);
  expect(
    [
      [1e-45, 1],
      [1e-9, 1],
      [1, 1],
    ].map(([low, high]) => makeScale(norm, spread(low!, high!), LIGHT).below),
  ).toEqual([true, false, false]);
  expect(makeScale(statisticOf("zero_fraction")!, spread(0.2, 0.3), LIGHT).domain).toEqual([0, 1]);
  expect(makeScale(norm, undefined, LIGHT).fill(5, State.number)).toMatch(/^#[0-9a-f]{6}$/);
});

interface Set {
  readonly scene: Scene;
  readonly paints: Paints;
}

function setOf(run: FixtureRun, step: number, theme: Theme, statistic = norm): Set {
  const hierarchy = hierarchyOf(run);
  const visible = showGraph(hierarchy, openUpTo(hierarchy, 100));
  const request = requestOf(visible, sizesOf(hierarchy, visible), 0);
  const laid = stackBoxes(request);
  const layout = addRows(visible, { ...laid, labels: placeLabels(laid, request) });
  const record = withOwn(recordAt(run, step), hierarchy.graph.edgeRow[0]!, 5);
  const values = computeValues(hierarchy, record, statistic);
  const scene = buildScene(hierarchy, visible, layout);
  return {
    scene,
    paints: paintScene(hierarchy, visible, scene, makeScale(norm, spread(1e-3, 1), theme), statistic, theme, values, record),
  };
}

function paintedCanvas(scene: Scene, paints: Paints): { canvas: HTMLCanvasElement; context: CanvasRenderingContext2D } {
  const canvas = document.createElement("canvas");
  const size = { width: 900, height: 1400 };
  Object.assign(canvas, size);
  const context = canvas.getContext("2d")!;
  const camera = { x: 0, y: 0, k: 1 };
  paint(context, scene, paints, LIGHT, { camera, size, pixelRatio: 1, backward: true, selected: -1, hovered: -1, edge: -1 });
  return { canvas, context };
}

test("a box is painted in the color that is reported for it; NaN is magenta", () => {
  const { scene, paints } = setOf(states(), 10, LIGHT);
  const { context } = paintedCanvas(scene, paints);
  scene.boxes.forEach(({ rectWorld, shape }, i) => {
    // Three pixels inside of the left border, clear of text, arrows and hatching.
    const { data } = context.getImageData(Math.round(rectWorld.x + 8), Math.round(rectWorld.y + rectWorld.height / 2), 1, 1);
    const color = `#${[...data.subarray(0, 3)].map((part) => part.toString(16).padStart(2, "0")).join("")}`;
    if (shape === "operation" && paints.boxes[i]!.state !== State.none) expect(color).toBe(paints.boxes[i]!.fill);
  });
  expect(paints.boxes.some(({ fill }) => fill === LIGHT.nonfinite)).toBe(true);
});

test("scalars are written on their boxes and shares on their edges", () => {
  const { scene, paints } = setOf(chainRule(), 0, LIGHT);
  const detail = (title: string): string | undefined => paints.boxes[scene.boxes.findIndex((box) => box.title === title)]?.detail;
  expect(detail("x")).toBe("value 3  grad 4");
  expect(detail("y1 · add")).toBe("value 4  grad −4");
  expect(paints.edges.slice(0, 2).map(({ label }) => label)).toEqual(["−4", "8"]);
});

test("a statistic that only one tensor has leaves no dashes on the others", () => {
  const own = statisticsFor("gradient", [OWN]).at(-1)!;
  const { scene, paints } = setOf(chainRule(), 0, LIGHT, own);
  expect(paints.edges.map(({ label }) => label).filter((label) => label !== "")).toEqual(["5"]);
  expect(paints.boxes.filter(({ detail }) => detail.includes("–"))).toEqual([]);
  const spare = setOf(states(), 0, LIGHT, own);
  const behind = spare.paints.boxes.filter(({ state }, i) => state === State.unknown && spare.scene.boxes[i]!.shape === "operation");
  expect(behind.length).toBeGreaterThan(0);
  expect(behind.filter(({ detail }) => detail.includes("no gradient"))).toEqual([]); // one arrived, but without this number
  expect(scene.boxes.length).toBe(paints.boxes.length);
});

test.each([
  ["forward", true],
  ["backward", false],
] as const)("compared %s, what has no number on one side is drawn like what has none", (stage, dotted) => {
  const [run, statistic] = [chainRule(), norm];
  const hierarchy = hierarchyOf(run);
  const visible = showGraph(hierarchy, openUpTo(hierarchy, 100));
  const request = requestOf(visible, sizesOf(hierarchy, visible), 0);
  const scene = buildScene(hierarchy, visible, addRows(visible, { ...stackBoxes(request), labels: [] }));
  const here = { ...recordAt(run, 0), stage };
  const there = { ...here, present: here.present.slice().fill(0, 0, 1) };
  const [one, other] = [here, there].map((record) => computeValues(hierarchy, record, statistic));
  const compared = compare(
    hierarchy,
    one!,
    [{ hierarchy, record: there, values: other!, joined: joinGraphs(hierarchy, hierarchy) }],
    statistic,
  );
  const painted = paintCompared(hierarchy, visible, scene, compared, here, makeScale(norm, spread(1, 2), LIGHT), 4, LIGHT);
  const box = visible.boxes.findIndex(({ kind, node }) => kind !== "group" && node === 0);
  const { unread, told, state } = painted.boxes[box]!;
  expect([unread, told, state]).toEqual([dotted, !dotted, State.none]);
});

test("a second line that does not fit gives up the value, then the elements; it is never cut", () => {
  const { scene, paints } = setOf(marks(), 0, LIGHT);
  const detail = (id: string): string => paints.boxes[scene.indexOf.get(id)!]!.detail;
  expect(detail("/MmBackward0.1")).toBe("grad [0.1235, −0.2346]");
  expect(detail("root:loss")).toBe("value 7  seed 1");
  expect(detail("/detach.0")).toBe("gradient stops here");
  expect(detail("parameter:a")).toBe("cut off");
  expect(detail("/MmBackward0.0")).toBe("no gradient");
  scene.boxes.forEach((box, i) => {
    const { detail: text } = paints.boxes[i]!;
    expect(fitText(text, DETAIL_FONT, detailRoom(box, box.rectWorld.width))).toBe(text);
  });
});

test("a cut is drawn as two bars across its edge", () => {
  const { scene, paints } = setOf(marks(), 0, LIGHT);
  const { canvas, context } = paintedCanvas(scene, paints);
  const cut = scene.edges.find((edge) => edge.cut)!;
  const target = cut.pathWorld.at(-1)!;
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  const red = rgbOf(LIGHT.cut);
  const rows = new Set<number>();
  for (let y = Math.round(target.y) - 30; y < target.y; y++) {
    const at = 4 * (y * canvas.width + Math.round(target.x) + 5); // beside the line
    if (red.every((part, i) => Math.abs(part - data[at + i]!) < 60)) rows.add(y);
  }
  const bars = [...rows].filter((y) => !rows.has(y - 1));
  expect(bars).toHaveLength(2);
});

test("the innermost box is picked; outside is none", () => {
  const { scene } = setOf(states(), 0, LIGHT);
  const picker = new Picker(scene);
  scene.boxes.forEach(({ rectWorld, shape }, i) => {
    if (shape !== "frame") expect(picker.boxAt({ x: rectWorld.x + 2, y: rectWorld.y + 2 })).toBe(i);
  });
  expect(picker.boxAt({ x: -50, y: -50 })).toBe(-1);
});

test("a drawing that was in view stays in view when the window narrows", () => {
  const bounds = { x: 0, y: 0, width: 400, height: 200 };
  const camera = { x: 500, y: 100, k: 1 };
  expect(bringIn(camera, bounds, { width: 1000, height: 600 })).toEqual(camera);
  expect(bringIn(camera, bounds, { width: 700, height: 600 })).toEqual({ x: 293, y: 100, k: 1 });
  expect(bringIn(camera, bounds, { width: 300, height: 600 }).k).toBeLessThan(1);
});

test("camera: world to screen and back; a tall drawing starts readable, at the place that it is told", () => {
  const bounds = { x: 10, y: 20, width: 300, height: 9000 };
  const size = { width: 1000, height: 700 };
  expect(fitCamera(bounds, size).k).toBeLessThan(0.1);
  const loss = { x: 100, y: 8900, width: 80, height: 40 };
  const start = startCamera(bounds, size, loss);
  expect(start.k).toBeGreaterThan(10 / 12);
  expect(toScreen(start, { x: 160, y: 9020 })).toEqual({ x: 500, y: 700 - 14 });
  expect(toScreen(startCamera(bounds, size, { ...loss, y: 4000 }), { x: 160, y: 4020 }).y).toBeCloseTo(350);
  expect(partInView(bounds, start, size)).toEqual({ part: 11, count: 11 });
  expect(partInView(bounds, cameraAtPart(bounds, start.k, size, 3), size)).toEqual({ part: 3, count: 11 });
  expect(partInView({ ...bounds, height: 500 }, { x: 0, y: 0, k: 1 }, size)).toBeUndefined();
  const back = toWorld(start, toScreen(start, { x: 5, y: 7 }));
  expect(back.x).toBeCloseTo(5);
  expect(back.y).toBeCloseTo(7);
});

test("text is cut to fit, in the middle", () => {
  const long = "a_very_long_operation_name_that_does_not_fit";
  const cut = fitText(long, TITLE_FONT, 120);
  expect(widthOf(cut, TITLE_FONT)).toBeLessThanOrEqual(120);
  expect(cut).toMatch(/^a_very.*….*fit$/);
});

test("a label does not hide a short bend; it is on a long one", () => {
  const turn = (across: number) => [
    { x: 0, y: 0 },
    { x: 0, y: 24 },
    { x: across, y: 24 },
    { x: across, y: 46 },
  ];
  const place = (across: number) =>
    placeLabels(
      { boxes: [], edges: [turn(across)], bounds: { x: 0, y: 0, width: 1, height: 1 } },
      { open: new Uint8Array(), marked: new Uint8Array(1) },
    )[0]!;
  expect(place(36)).toEqual({ x: 0, y: 12 });
  expect(place(120)).toEqual({ x: 60, y: 24 });
  expect(labelRect(place(36)).y + labelRect(place(36)).height).toBeLessThan(24);
});
