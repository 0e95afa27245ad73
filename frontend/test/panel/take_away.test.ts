// What is taken away is what is shown: pictures, tables, links.

import { interpolateCividis, interpolateGreys, interpolateViridis, interpolateYlGnBu } from "d3-scale-chromatic";
import { Context } from "svgcanvas";
import { afterEach, expect, test } from "vitest";
import { one, two } from "../../fixtures/compared.mjs";
import { chainRule, flow, HOSTILE, hostile, training, transformer } from "../../fixtures/examples.mjs";
import { embeddedFetch } from "../../src/api/embedded";
import { keyOf } from "../../src/api/requests";
import { csvOf } from "../../src/base/csv";
import { chartSize, paintChart } from "../../src/draw/charts/paint_chart";
import { luminance } from "../../src/draw/style/color_scale";
import { colorAt, rgbOf } from "../../src/draw/style/element_colors";
import { lineColor } from "../../src/draw/style/line_colors";
import { RAMPS } from "../../src/draw/style/ramp_names";
import { rampOf, STOPS } from "../../src/draw/style/ramps";
import { DETAIL_FONT, widthOf } from "../../src/draw/style/text";
import { LIGHT } from "../../src/draw/style/theme";
import { readHash, writeHash } from "../../src/panel/session/host";
import { useDownloads, type Saved } from "../downloads";
import { settle, useStage, waitFor } from "../stage";

const stage = useStage();
const saved = useDownloads();

afterEach(() => {
  localStorage.removeItem("gradgraph.colors");
});

async function take(id: string): Promise<Saved> {
  if (stage.one("take-away-list") === null) stage.one("take-away")!.click();
  await waitFor(() => expect(stage.one(id)).not.toBeNull());
  const before = saved.length;
  stage.one(id)!.click();
  await waitFor(() => expect(saved).toHaveLength(before + 1));
  return saved.at(-1)!;
}

async function svgOf(blob: Blob): Promise<Document> {
  const made = new DOMParser().parseFromString(await blob.text(), "image/svg+xml");
  expect(made.querySelector("parsererror")).toBeNull();
  return made;
}

test("an SVG of the whole drawing has every box by its name, the colors of the page, and says what they mean", async () => {
  stage.show(chainRule());
  await stage.drawn("leaf:x");
  const { name, blob } = await take("save-whole-svg");
  expect(name).toMatch(/^gradgraph-chain_rule-.*\.svg$/);
  const svg = await svgOf(blob);
  const texts = [...svg.querySelectorAll("text")].map(({ textContent }) => textContent);
  for (const key of stage.keys()) expect(texts).toContain(stage.item(key).dataset.name);
  const fills = new Set([...svg.querySelectorAll("path")].map((path) => path.getAttribute("fill")));
  for (const key of stage.keys()) expect(fills).toContain(stage.item(key).dataset.color);
  expect(texts).toContain("Gradient, L2 norm (log)");
});

test("the footer of a narrow picture says what it shows, and nothing exceeds its edge", async () => {
  stage.show(training());
  await stage.drawn("parameter:w");
  stage.choose("stage", "accumulated");
  await waitFor(() => expect(readHash()).toContain("stage=accumulated"));
  const svg = await svgOf((await take("save-whole-svg")).blob);
  const width = Number(svg.documentElement.getAttribute("width"));
  expect(width).toBeLessThan(620); // less than one line needs
  const texts = [...svg.querySelectorAll("text")];
  expect(texts.map(({ textContent }) => textContent)).toContain("training · net, step 20, accumulated");
  for (const text of texts.slice(texts.findIndex(({ textContent }) => textContent === "Gradient, L2 norm (log)"))) {
    const end = Number(text.getAttribute("x")) + widthOf(text.textContent, DETAIL_FONT);
    expect(end).toBeLessThanOrEqual(width - 14);
  }
});

test("the picture of a comparison says which are zero on one side", async () => {
  writeHash("p.gradgraph.run=one&p.gradgraph.vs.run=two&p.gradgraph.vs.step=same");
  stage.show(one(), two());
  await stage.drawn("parameter:up.weight");
  await waitFor(() => expect(stage.one("compare-bar")?.dataset.ready).toBe("true"));
  const svg = await svgOf((await take("save-whole-svg")).blob);
  const texts = [...svg.querySelectorAll("text")].map(({ textContent }) => textContent);
  for (const word of ["zero here", "zero there", "no ratio", "NaN / inf"]) expect(texts).toContain(word);
});

test("a PNG of the visible part has the page's pixels, at twice the resolution", async () => {
  stage.show(chainRule());
  await stage.drawn("leaf:x");
  const canvas = stage.one("canvas") as HTMLCanvasElement;
  const { blob } = await take("save-png");
  const picture = await createImageBitmap(blob);
  expect(picture.width).toBe(2 * canvas.clientWidth);
  expect(picture.height).toBe(2 * (canvas.clientHeight + 44));
  const copy = new OffscreenCanvas(picture.width, picture.height).getContext("2d")!;
  copy.drawImage(picture, 0, 0);
  const { x, y } = stage.middleOf("leaf:x");
  const ratio = window.devicePixelRatio;
  const [across, down] = [x - 20, y - 14]; // beside the text
  const shown = canvas.getContext("2d")!.getImageData(across * ratio, down * ratio, 1, 1).data;
  expect([...copy.getImageData(2 * across, 2 * down, 1, 1).data]).toEqual([...shown]);
});

test("the heat map is saved with its names, cells and steps", async () => {
  writeHash("p.gradgraph.view=flow");
  stage.show(flow());
  await waitFor(() => expect(stage.one("flow-canvas")?.dataset.columns).toMatch(/,10$/));
  const svg = await svgOf((await take("save-svg")).blob);
  const texts = [...svg.querySelectorAll("text")].map(({ textContent }) => textContent);
  for (const expected of ["up Linear", "weight", "train/loss", "90"]) expect(texts).toContain(expected);
  expect(svg.querySelector("image")?.getAttribute("xlink:href")).toMatch(/^data:image\/png;base64,/);
  expect((await createImageBitmap((await take("save-png")).blob)).width).toBe(2 * (stage.one("flow-canvas")!.clientWidth + 250));
});

test("names in a picture and its file name are text", async () => {
  stage.show(hostile());
  await waitFor(() => expect(stage.keys().length).toBeGreaterThan(0));
  const { name, blob } = await take("save-whole-svg");
  expect(name).toMatch(/^[\w.-]+$/);
  const svg = await svgOf(blob);
  expect(svg.querySelector("script, img, foreignObject, [onerror], [onload]")).toBeNull();
  expect(HOSTILE).toContain("<");
});

test("a chart's numbers are a table, exactly", async () => {
  writeHash("p.gradgraph.sel=h.0.attn.w&p.gradgraph.stat=l2_norm");
  const run = transformer(1, 3);
  stage.show(run);
  await waitFor(() => expect(stage.keys().length).toBeGreaterThan(0));
  await settle(50);
  const parameter = run.graph.nodes.key.find((key, i) => run.graph.nodes.kind[i] === "parameter" && key.includes("0"))!;
  writeHash(`p.gradgraph.sel=${encodeURIComponent(parameter)}`);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
  window.parent.dispatchEvent(new HashChangeEvent("hashchange"));
  await waitFor(() => expect(stage.one("chart-csv")).not.toBeNull());
  stage.one("chart-csv")!.click();
  const lines = (await saved[0]!.blob.text()).trimEnd().split("\r\n");
  expect(lines[0]).toBe("step,l2_norm");
  expect(lines).toHaveLength(1 + Number(stage.one("chart")!.dataset.points));
  for (const line of lines.slice(1)) expect(line).toMatch(/^\d+,\d/);
});

test("tables have quotes where they are needed", () => {
  expect(
    csvOf([
      ["a", 'b "c", d'],
      [1.5, null],
      [Infinity, "x\ny"],
    ]),
  ).toBe('a,"b ""c"", d"\r\n1.5,\r\nInfinity,"x\ny"\r\n');
});

test("a text that a spreadsheet would evaluate gets an apostrophe in front of it, a number never", () => {
  const texts = ["=1+1", "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "＋1", "－1", "＠A", "a=1", "'=1"];
  const written = ["'=1+1", "'+1", "'-2+3", "'@SUM(A1)", "'\t=1", '"\'\r=1"', '"\'\n=1"', "'＝1", "'＋1", "'－1", "'＠A", "a=1", "'=1"];
  expect(csvOf([texts])).toBe(`${written.join(",")}\r\n`);
  expect(csvOf([[-1, -0.5, 1e-7, -Infinity, null]])).toBe("-1,-0.5,1e-7,-Infinity,\r\n");
});

test("a chart is saved as paths and text, with each point at its number, and as a table", async () => {
  const pins = "parameter%3Aup.weight%3A0%0Aparameter%3Adown.weight%3A0";
  writeHash(`p.gradgraph.view=charts&p.gradgraph.run=one&p.gradgraph.step=2&p.gradgraph.chart.pins=${pins}`);
  stage.show(one());
  await waitFor(() => expect(stage.one("chart")?.dataset.points).toBe("8"));
  const { name, blob } = await take("chart-svg");
  expect(name).toBe("gradgraph-one-net-2-backward.svg");
  const svg = await svgOf(blob);
  const texts = [...svg.querySelectorAll("text")].map(({ textContent }) => textContent);
  for (const expected of ["Gradient, backward: L2 norm (log)", "step", "one · net", "up.weight", "down.weight", "0", "3", "5", "10"])
    expect(texts).toContain(expected);
  // The weight of "up" has 3, 6, 9 and 12.
  const path = [...svg.querySelectorAll("path")].find(
    (one) => one.getAttribute("stroke") === lineColor(0, LIGHT) && one.getAttribute("stroke-width") === "1.5",
  )!;
  const points = [...path.getAttribute("d")!.matchAll(/[ML] ?([\d.]+)[ ,]([\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)] as const);
  expect(points).toHaveLength(4);
  const [[x0, y0], , [x2, y2], [x3, y3]] = points as unknown as readonly (readonly [number, number])[] as [
    readonly [number, number],
    readonly [number, number],
    readonly [number, number],
    readonly [number, number],
  ];
  expect((x2 - x0) / (x3 - x0)).toBeCloseTo(2 / 3, 3);
  expect((y2 - y0) / (y3 - y0)).toBeCloseTo(Math.log(3) / Math.log(4), 3);
  expect((await createImageBitmap((await take("chart-png")).blob)).width).toBe(2 * 960);
  expect(await (await take("chart-csv")).blob.text()).toBe("step,up.weight,down.weight\r\n0,3,6\r\n1,6,12\r\n2,9,18\r\n3,12,24\r\n");
});

test("a missing number interrupts a line; a single number is a point", async () => {
  const line = { id: "a", label: HOSTILE, color: "#123456", steps: [0, 1, 2, 3, 4, 5], values: [1, 2, null, 4, 0, 8] };
  const context = new Context({ width: 960, height: 600 });
  paintChart(
    context as unknown as CanvasRenderingContext2D,
    { title: "t", of: "o", lines: [line], log: true, step: 9, smoothing: 0 },
    LIGHT,
  );
  const svg = await svgOf(new Blob([context.getSerializedSvg(true)]));
  const paths = [...svg.querySelectorAll("path")];
  const drawn = paths.filter((path) => path.getAttribute("stroke") === "#123456" && path.getAttribute("stroke-width") === "1.5");
  expect(drawn.map((path) => path.getAttribute("d")!.match(/[ML]/g)!.join(""))).toEqual(["ML"]);
  expect(paths.filter((path) => path.getAttribute("fill") === "#123456")).toHaveLength(4);
  expect([...svg.querySelectorAll("text")].map(({ textContent }) => textContent)).toContain(HOSTILE);
  expect(chartSize({ title: "", of: "", lines: [line, line], log: false, step: undefined, smoothing: 0 }).height).toBeGreaterThan(
    chartSize({ title: "", of: "", lines: [line], log: false, step: undefined, smoothing: 0 }).height,
  );
});

test("the link is the address of the view", async () => {
  stage.show(chainRule());
  await stage.drawn("leaf:x");
  stage.one("take-away")!.click();
  await waitFor(() => expect(stage.one("link")).not.toBeNull());
  await waitFor(() => expect(readHash()).toContain("p.gradgraph.run"));
  await waitFor(() => expect((stage.one("link") as HTMLInputElement).value).toBe(window.parent.location.href));
});

test("the lightness of each color scale changes in one direction, away from the background", () => {
  for (const { id } of RAMPS) {
    for (const dark of [false, true]) {
      const lights = rampOf(dark, id).map(luminance);
      expect(
        lights.every((light, i) => i === 0 || (dark ? light >= lights[i - 1]! - 1e-3 : light <= lights[i - 1]! + 1e-3)),
        `${id} ${dark}`,
      ).toBe(true);
      expect(Math.abs(lights.at(-1)! - lights[0]!)).toBeGreaterThan(0.5);
    }
  }
});

test("the color scales are those of d3-scale-chromatic", () => {
  const theirs = { ylgnbu: interpolateYlGnBu, viridis: interpolateViridis, cividis: interpolateCividis, grey: interpolateGreys };
  for (const { id } of RAMPS) {
    for (let i = 0; i <= 500; i++) {
      const [ours, expected] = [colorAt(STOPS[id], i / 500), theirs[id](i / 500)];
      const parts = expected.startsWith("#") ? rgbOf(expected) : expected.match(/\d+/g)!.map(Number);
      const off = Math.max(...rgbOf(ours).map((part, k) => Math.abs(part - parts[k]!)));
      expect(off, `${id} at ${i / 500}`).toBeLessThanOrEqual(5);
    }
  }
});

test("a color scale that was chosen is drawn, kept and in the link", async () => {
  stage.show(chainRule());
  await stage.drawn("leaf:x");
  const before = stage.item("leaf:x").dataset.color;
  stage.one("colors")!.click();
  await waitFor(() => expect(stage.one("colors-cividis")).not.toBeNull());
  stage.one("colors-cividis")!.click();
  await waitFor(() => expect(stage.item("leaf:x").dataset.color).not.toBe(before));
  expect(rampOf(false, "cividis")).toContain(stage.item("leaf:x").dataset.color);
  expect(localStorage.getItem("gradgraph.colors")).toBe("cividis");
  await waitFor(() => expect(readHash()).toContain("p.gradgraph.colors=cividis"));
});

test("the contents of a file are requested like those of the server", async () => {
  const content = new TextEncoder().encode('{"a":1}');
  const key = keyOf("./step?tag=a%26b&run=%3C%2Fscript%3E+x&step=3");
  expect(key).toBe("step\nrun=</script> x\nstep=3\ntag=a&b");
  const head = new TextEncoder().encode(JSON.stringify({ answers: { [key]: [0, content.length] } }));
  const pack = new Uint8Array(4 + head.length + content.length);
  new DataView(pack.buffer).setUint32(0, head.length, true);
  pack.set(head, 4);
  pack.set(content, 4 + head.length);
  const ask = embeddedFetch(pack.buffer);
  expect(await (await ask("./step?run=%3C%2Fscript%3E+x&step=3&tag=a%26b")).json()).toEqual({ a: 1 });
  const missing = await ask("./tensor?run=x");
  expect([missing.status, (await missing.json()).error]).toEqual([
    404,
    "This file does not contain that. TensorBoard can show it from the original log.",
  ]);
});
