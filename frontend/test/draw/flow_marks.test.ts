// What is painted over and in the heat map.

import { expect, test } from "vitest";
import { codesOf, comparedCodesOf, NONE, paletteOf, ratioPaletteOf, UNKNOWN, type Palette } from "../../src/draw/flow/flow_codes";
import { paintCells } from "../../src/draw/flow/paint_cells";
import { paintScalar } from "../../src/draw/flow/paint_scalar";
import { makeScale } from "../../src/draw/style/color_scale";
import { rgbOf } from "../../src/draw/style/element_colors";
import { LIGHT } from "../../src/draw/style/theme";
import { Relation } from "../../src/model/compare/comparison";
import type { Flow } from "../../src/model/flow/flow";
import { emptyValues } from "../../src/model/visible/values";
import type { ComparedFlow } from "../../src/model/flow/flow_compared";
import { valueScale } from "../../src/model/flow/scalar_line";
import { DEFAULT_STATISTIC, statisticOf } from "../../src/model/recorded/statistics";
import { State } from "../../src/model/visible/values";
import { spread } from "../fixture";

const WIDTH = 80;

// How much of the color of NaN each pixel of a row has, from 0 to 255.
function scalarPainted(values: readonly number[], y: number): readonly number[] {
  const context = new OffscreenCanvas(WIDTH, 40).getContext("2d")! as unknown as CanvasRenderingContext2D;
  const series = { tag: "loss", steps: [...values.keys()], values: Float64Array.from(values) };
  const line = { series, positions: Float64Array.from(values.keys(), (i) => i + 0.5), scale: valueScale(values) };
  const unitPx = WIDTH / values.length;
  paintScalar(context, line, { from: 0, to: values.length, count: values.length, unitPx }, { x: 0, y: 0, width: WIDTH, height: 40 }, LIGHT);
  const { data } = context.getImageData(0, y, WIDTH, 1);
  const [r, g, b] = rgbOf(LIGHT.nonfinite);
  return Array.from({ length: WIDTH }, (_, x) => {
    const near = Math.abs(data[4 * x]! - r) + Math.abs(data[4 * x + 1]! - g) + Math.abs(data[4 * x + 2]! - b) < 12;
    return near ? data[4 * x + 3]! : 0;
  });
}

test("a line begins each NaN of the scalar, and one shaded span lasts as long as it does", () => {
  const painted = scalarPainted([1, 2, NaN, Infinity, NaN, 2, NaN, 3], 12);
  expect([24, 25, 64, 65].map((x) => painted[x])).toEqual([255, 255, 255, 255]); // steps 2 and 6
  const span = painted.slice(26, 45);
  expect(new Set(span).size).toBe(1); // no line of its own at steps 3 and 4
  expect(span[0]).toBeGreaterThan(50);
  expect(span[0]).toBeLessThan(120);
  expect([...painted.slice(0, 24), ...painted.slice(46, 64), ...painted.slice(66)].every((alpha) => alpha === 0)).toBe(true);
  const head = scalarPainted([1, 2, NaN, Infinity, NaN, 2, NaN, 3], 2);
  expect(head.slice(26, 45).every((alpha) => alpha === 255)).toBe(true); // the mark at the top is solid
});

test("a scalar that is often NaN has marks at the top, and no bars over its curve", () => {
  const often = Array.from({ length: 8 }, (_, i) => (i % 2 === 0 ? NaN : i));
  expect(scalarPainted(often, 2).filter((alpha) => alpha === 255)).toHaveLength(8); // four marks of two pixels
  expect(scalarPainted(often, 12).every((alpha) => alpha === 0)).toBe(true);
  const dense = Array.from({ length: 80 }, (_, i) => (i % 2 === 0 ? NaN : i));
  expect(scalarPainted(dense, 2).filter((alpha) => alpha === 255).length).toBeGreaterThan(78); // one mark
});

test("the line of the other side is dashed, and lies on the band of its range", () => {
  const context = new OffscreenCanvas(WIDTH, 40).getContext("2d")! as unknown as CanvasRenderingContext2D;
  const steps = [...Array(8).keys()];
  const seriesOf = (value: number) => ({ tag: "loss", steps, values: new Float64Array(8).fill(value) });
  const positions = Float64Array.from(steps, (i) => i + 0.5);
  const range = { low: steps.map(() => 2), high: steps.map(() => 4) };
  const line = { series: seriesOf(1), positions, scale: valueScale([1, 4]), there: { series: seriesOf(3), positions, range } };
  paintScalar(context, line, { from: 0, to: 8, count: 8, unitPx: 10 }, { x: 0, y: 0, width: WIDTH, height: 40 }, LIGHT);
  const yOf = (value: number): number => Math.floor(37 - line.scale!.position(value) * 34);
  const alphas = (value: number): readonly number[] => {
    const { data } = context.getImageData(10, yOf(value), 60, 1);
    return Array.from({ length: 60 }, (_, x) => data[4 * x + 3]!);
  };
  expect(new Set(alphas(2.4)).size).toBe(1); // only the band
  expect(alphas(2.4)[0]).toBeGreaterThan(20);
  expect(alphas(2.4)[0]).toBeLessThan(70);
  expect(alphas(1.5).every((alpha) => alpha === 0)).toBe(true); // below it
  const dashes = alphas(3).map((alpha) => alpha > 100);
  expect(dashes.filter(Boolean).length).toBeGreaterThan(25);
  expect(dashes.filter((dark) => !dark).length).toBeGreaterThan(10);
  expect(alphas(1).every((alpha) => alpha > 100)).toBe(true); // its own line is whole
});

// The marked pixels of one large cell without a number, as [x, y].
function marksIn({ lean, lines, colors }: Palette, code = NONE): readonly (readonly [number, number])[] {
  const image = new ImageData(42, 36);
  const axis = { from: 0, to: 1, unitPx: 1000, count: 1 };
  paintCells(image, { codes: Uint16Array.of(code), columns: 1, entities: Int32Array.of(0) }, axis, axis, 1, { lean, lines, colors });
  const pixels = new Uint32Array(image.data.buffer);
  return [...pixels.keys()].filter((at) => pixels[at] === lines[code]).map((at) => [at % 42, Math.floor(at / 42)]);
}

test.each([
  ["alone", paletteOf],
  ["compared", ratioPaletteOf],
] as const)("no gradient is hatched and a value that was not read is dotted, as in the graph: %s", (_, palette) => {
  const gradient = marksIn(palette(LIGHT, "gradient"));
  expect(new Set(gradient.map(([, y]) => y)).size).toBe(36); // lines cross every row of pixels
  expect(gradient.every(([x, y]) => (x + y) % 6 === 0)).toBe(true);
  const value = marksIn(palette(LIGHT, "value"));
  expect(new Set(value.map(([, y]) => y)).size).toBe(12); // two of six rows of pixels
  expect(value.length).toBe(12 * 12); // six dots, two pixels wide
  const codes = comparedCodesOf(
    {
      relation: Uint8Array.of(Relation.none, Relation.numberHere, Relation.unknown),
      log2: new Float32Array(3),
      there: emptyValues(3),
    } as ComparedFlow,
    1,
  );
  expect([...codes]).toEqual([NONE, NONE, UNKNOWN]);
});

test("what arrived without such a number is plain, as in the graph", () => {
  const flow = { value: new Float32Array(2).fill(NaN), state: Uint8Array.of(State.none, State.unknown) } as unknown as Flow;
  const scale = makeScale(DEFAULT_STATISTIC, spread(1, 2), LIGHT);
  expect([...codesOf(flow, scale)]).toEqual([NONE, UNKNOWN]);
  for (const { colors, lean } of [paletteOf(LIGHT, "value"), ratioPaletteOf(LIGHT, "value")])
    expect([colors[UNKNOWN], lean[UNKNOWN]]).toEqual([colors[NONE], 0]);
});

test.each([["l2_norm"], ["mean"], ["zero_fraction"]])("each cell has the color of its number, however many there are: %s", (id) => {
  const statistic = statisticOf(id)!;
  let seed = 1;
  const random = (): number => (seed = (seed * 48271) % 2147483647) / 2147483647;
  const numbers = Float32Array.from({ length: 100_000 }, () =>
    statistic.scale === "unit" ? random() : (random() - 0.3) * 10 ** (24 * random() - 12),
  );
  const scale = makeScale(statistic, spread(1e-7, 1e5), LIGHT);
  const codes = codesOf({ value: numbers, state: new Uint8Array(numbers.length).fill(State.number) }, scale);
  expect(codes).toEqual(Uint16Array.from(numbers, (value) => 4 + Math.round(scale.position(value) * 255)));
});
