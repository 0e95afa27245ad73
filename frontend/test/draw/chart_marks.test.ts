// A gradient of zero, one that is NaN or infinite, and none at all are told from each other in charts and tables.

import { Context } from "svgcanvas";
import { expect, test } from "vitest";
import { died } from "../../fixtures/examples.mjs";
import { csvOf } from "../../src/base/csv";
import { FLOOR_ROOM_PX } from "../../src/draw/charts/chart_marks";
import { chartSize, paintChart, type DrawnChart } from "../../src/draw/charts/paint_chart";
import { rgbOf } from "../../src/draw/style/element_colors";
import { lineColor } from "../../src/draw/style/line_colors";
import { LIGHT } from "../../src/draw/style/theme";
import { valueIn } from "../../src/panel/chart/chart";
import { tableOf } from "../../src/panel/picture/save_chart";
import { writeHash } from "../../src/panel/session/host";
import { pointAtChart, useStage, waitFor } from "../stage";

const stage = useStage();
const { one } = stage;
const STEPS = 8;

function openCharts(): void {
  writeHash("p.gradgraph.view=charts&p.gradgraph.chart.pins=parameter%3Aw%3A0&p.gradgraph.step=7");
  stage.show(died());
}

// The part of a step's column in the drawn chart that has a color, in pixels below the top of the plot and above its bottom.
function inColumn(step: number, color: string): { readonly first: number; readonly last: number; readonly above: number } | undefined {
  const canvas = one("chart")!.querySelector("canvas")!;
  const [whole, plot] = [canvas.getBoundingClientRect(), one("chart")!.querySelector(".u-over")!.getBoundingClientRect()];
  const ratio = canvas.width / whole.width;
  const x = Math.round((plot.left - whole.left + (step / (STEPS - 1)) * plot.width) * ratio);
  const [top, height] = [Math.round((plot.top - whole.top) * ratio), Math.round(plot.height * ratio)];
  const { data } = canvas.getContext("2d")!.getImageData(x - 1, top, 2, height);
  const [r, g, b] = rgbOf(color);
  const rows = Array.from({ length: 2 * height }, (_, i) => i)
    .filter((i) => Math.abs(data[4 * i]! - r) + Math.abs(data[4 * i + 1]! - g) + Math.abs(data[4 * i + 2]! - b) < 12)
    .map((i) => Math.floor(i / 2) / ratio);
  return rows.length === 0 ? undefined : { first: rows[0]!, last: rows.at(-1)!, above: height / ratio - rows.at(-1)! };
}

const shown = (): { value: string | undefined; text: string } => {
  const number = one("charts-lines")!.querySelector<HTMLElement>("[data-line]")!;
  return { value: number.dataset.value, text: number.textContent };
};

test("on a logarithmic scale zeros are marks on a floor, NaN and infinity marks at the top, and no gradient is a gap", async () => {
  openCharts();
  await waitFor(() => expect(one("chart")?.dataset).toMatchObject({ log: "true", points: "5", zeros: "2", nonfinite: "3" }));
  const [line, bad] = [lineColor(0, LIGHT), LIGHT.nonfinite];
  await waitFor(() => expect(inColumn(1, line)).toBeDefined());
  for (const step of [1, 2]) {
    const { first, last, above } = inColumn(step, line)!;
    expect(above).toBeLessThan(FLOOR_ROOM_PX / 2);
    expect(last - first).toBeLessThan(8);
    expect(inColumn(step, bad)).toBeUndefined();
  }
  for (const step of [3, 4, 5]) expect(inColumn(step, bad)!.last).toBeLessThan(12);
  for (const step of [3, 4, 6]) expect(inColumn(step, line)).toBeUndefined();
  expect(inColumn(6, bad)).toBeUndefined();
  // Numbers lie above the floor, also the least.
  expect(inColumn(0, line)!.above).toBeGreaterThan(FLOOR_ROOM_PX * 0.7);
  expect(inColumn(5, line)).toBeDefined();
  expect(one("chart-marks")?.textContent).toBe("zeroNaN / inf at steps 3–5gap: no gradient");
});

test("on a linear scale zero has its place on the axis, and is no mark", async () => {
  openCharts();
  await waitFor(() => expect(one("chart")?.dataset.zeros).toBe("2"));
  one("charts-log")!.click();
  await waitFor(() => expect(one("chart")?.dataset).toMatchObject({ log: "false", zeros: "0", nonfinite: "3" }));
  expect(one("chart-marks")?.textContent).toBe("NaN / inf at steps 3–5gap: no gradient");
  await waitFor(() => expect(inColumn(4, LIGHT.nonfinite)?.last).toBeLessThan(12));
});

test.each([
  [0, "1", "1"],
  [2, "0", "0"],
  [3, "NaN", "NaN"],
  [4, "-Infinity", "−∞"],
  [5, "4", "4 NaN"],
  [6, "none", "–"],
])("at step %d under the pointer the number is told as %s", async (step, value, text) => {
  openCharts();
  await waitFor(() => expect(one("chart")?.querySelector(".u-over")).toBeInstanceOf(Element));
  await waitFor(() => {
    pointAtChart(one("chart")!, step / (STEPS - 1) + 0.002);
    expect(shown()).toEqual({ value, text });
  });
});

test("a chart without any finite number says at how many steps there is NaN or infinity", async () => {
  writeHash("p.gradgraph.view=charts&p.gradgraph.chart.pins=parameter%3Aw%3A0");
  stage.show({ ...died(), records: died().records.filter(({ step }) => [3, 4, 6].includes(step)) });
  await waitFor(() => expect(one("chart")?.textContent).toBe("No finite number at any step. NaN or inf at 2 of 3."));
});

test("the chart of a card has the same marks; the line of the weight has no marks of the gradient", async () => {
  writeHash("p.gradgraph.step=2&p.gradgraph.sel=parameter%3Aw");
  stage.show(died());
  await waitFor(() => expect(one("chart")?.dataset).toMatchObject({ log: "true", zeros: "2", nonfinite: "3" }));
  expect(one("chart-marks")?.textContent).toBe("zeroNaN / inf at steps 3–5gap: no gradient");
  expect(one("chart-key")?.querySelector<HTMLElement>("[data-line]")?.dataset.value).toBe("0");
  stage.choose("chart-of", "weight_norm");
  await waitFor(() => expect(one("chart")?.dataset).toMatchObject({ zeros: "0", nonfinite: "0" }));
  expect(one("chart-marks")).toBeNull();
});

test.each([
  [3, "NaN", "NaN", "bad"],
  [4, "-Infinity", "−∞", "bad"],
  [5, "4", "4", ""],
  [2, "0", "0", ""],
])("the table of stages at step %d tells what no element is finite of from what was not recorded", async (step, value, text, look) => {
  writeHash(`p.gradgraph.step=${step}&p.gradgraph.sel=parameter%3Aw`);
  stage.show(died());
  await waitFor(() => expect(one("stages")).not.toBeNull());
  const cells = [...one("stages")!.querySelectorAll<HTMLElement>("[data-statistic=l2_norm]")];
  expect(cells.map(({ dataset, textContent, className }) => [dataset.value, textContent, className])).toEqual(
    Array(2).fill([value, text, look]),
  );
});

const LINE = { id: "w", label: "w", color: "#123456", steps: [0, 1, 2, 3], values: [1, 0, null, 100], nonfinite: new Map([[2, NaN]]) };
const chartOf = (log: boolean, line: DrawnChart["lines"][number] = LINE): DrawnChart => ({
  title: "t",
  of: "o",
  lines: [line],
  log,
  step: undefined,
  smoothing: 0,
});

function painted(chart: DrawnChart): Document {
  const context = new Context(chartSize(chart));
  paintChart(context as unknown as CanvasRenderingContext2D, chart, LIGHT);
  return new DOMParser().parseFromString(context.getSerializedSvg(true), "image/svg+xml");
}

test("a saved chart has the marks, a floor that is labelled 0, and what they mean", () => {
  const svg = painted(chartOf(true));
  const texts = [...svg.querySelectorAll("text")];
  const rects = (color: string): readonly { x: number; y: number }[] =>
    [...svg.querySelectorAll("rect")]
      .filter((rect) => rect.getAttribute("fill") === color)
      .map((rect) => ({
        x: Number(rect.getAttribute("x")) + Number(rect.getAttribute("width")) / 2,
        y: Number(rect.getAttribute("y")) + Number(rect.getAttribute("height")) / 2,
      }));
  const [zero, ...others] = rects("#123456");
  const [bad] = rects(LIGHT.nonfinite);
  expect(others).toEqual([]);
  expect(bad!.y).toBeLessThan(zero!.y - 300);
  expect(bad!.x - zero!.x).toBeCloseTo((960 - 72 - 24) / 3, 6); // one of three steps
  const floor = texts.filter(
    ({ textContent, attributes }) => textContent === "0" && Number(attributes.getNamedItem("y")!.value) === zero!.y,
  );
  expect(floor).toHaveLength(1);
  expect(texts.map(({ textContent }) => textContent)).toEqual(
    expect.arrayContaining(["zero, at the bottom", "NaN / inf at step 2, at the top"]),
  );
  expect(texts.map(({ textContent }) => textContent)).not.toContain("gap: no gradient");
  const plain = painted(chartOf(true, { ...LINE, values: [1, 2, 3, 100], nonfinite: new Map() }));
  expect([...plain.querySelectorAll("text")].map(({ textContent }) => textContent)).not.toContain("zero, at the bottom");
});

test("zeros of several lines do not hide each other, and a line smoothed over them stays in the plot", () => {
  const lines = ["#111111", "#222222", "#333333"].map((color) => ({ ...LINE, id: color, color, values: [1, 0, 0, 0] }));
  const svg = painted({ ...chartOf(true), lines, smoothing: 0.5 });
  const at = lines.map(({ color }) =>
    [...svg.querySelectorAll(`rect[fill="${color}"]`)].map(
      (rect) => [Number(rect.getAttribute("y")), Number(rect.getAttribute("height"))] as const,
    ),
  );
  at.forEach((rects) => expect(rects).toHaveLength(3));
  expect(at[0]![0]![0] + at[0]![0]![1]).toBeLessThanOrEqual(at[1]![0]![0]);
  expect(at[1]![0]![0] + at[1]![0]![1]).toBeLessThanOrEqual(at[2]![0]![0]);
  const smoothed = [...svg.querySelectorAll('path[stroke="#111111"][stroke-width="1.5"]')].flatMap((path) =>
    [...path.getAttribute("d")!.matchAll(/[ML] ?[\d.]+[ ,]([\d.]+)/g)].map(([, y]) => Number(y)),
  );
  expect(smoothed).toHaveLength(4);
  expect(Math.max(...smoothed)).toBeLessThan(at[0]![0]![0]);
});

test("a saved table has NaN where no element was finite, and an empty cell where there is no gradient", () => {
  const gap = { ...LINE, values: [1, null, null, 100] };
  expect(csvOf(tableOf({ ...chartOf(true, gap), name: "n", columns: ["w"] }))).toBe("step,w\r\n0,1\r\n1,\r\n2,NaN\r\n3,100\r\n");
  expect(valueIn(gap, undefined)).toBeUndefined();
});

test("NaN that lasts is one bar at the top, from its first step to its last, and the key says when", () => {
  const steps = Array.from({ length: 41 }, (_, i) => 2 * i);
  const values = steps.map((step) => (step < 40 ? 1 + step : null));
  const nonfinite = new Map(steps.filter((step) => step >= 40).map((step) => [step, NaN]));
  const bars = (line: DrawnChart["lines"][number]): readonly Element[] => {
    const page = painted(chartOf(false, line));
    return [...page.querySelectorAll(`rect[fill="${LIGHT.nonfinite}"]`)].filter((rect) => Number(rect.getAttribute("y")) < 100);
  };
  const [bar, ...more] = bars({ ...LINE, steps, values, nonfinite });
  expect(more).toEqual([]);
  // The plot is from 0 to 80 on 864 pixels behind 72.
  expect(Number(bar!.getAttribute("x"))).toBeCloseTo(72 + 432 - 2);
  expect(Number(bar!.getAttribute("width"))).toBeCloseTo(432 + 4);
  const page = painted(chartOf(false, { ...LINE, steps, values, nonfinite }));
  expect(page.documentElement.textContent).toContain("NaN / inf at steps 40–80, at the top");
  nonfinite.delete(60);
  expect(bars({ ...LINE, steps, values, nonfinite })).toHaveLength(2);
});
