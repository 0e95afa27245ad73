// Lines between columns: the order of their tracks, and ways below the columns.

import { expect, test } from "vitest";
import type { Point } from "../../src/base/geometry";
import { putAbreast, type Source, type Tall } from "../../src/layout/levels/columns";
import { countCrossings } from "../../src/layout/levels/crossings";
import { tracksOf, type Span } from "../../src/layout/levels/tracks";

const line = (...points: readonly (readonly [number, number])[]): readonly Point[] => points.map(([x, y]) => ({ x, y }));

test("crossings are counted by place, not where lines meet or belong to one owner", () => {
  const across = line([0, 10], [100, 10]);
  expect(countCrossings([across, line([50, 0], [50, 20])], ["a", "b"])).toBe(1);
  expect(countCrossings([across, line([50, 0], [50, 20]), line([50, 5], [50, 40])], ["a", "b", "c"])).toBe(1);
  expect(countCrossings([across, line([50, 0], [50, 20])], ["a", "a"])).toBe(0);
  expect(countCrossings([across, line([50, 10], [50, 20])], ["a", "b"])).toBe(0);
  expect(countCrossings([across, line([100, 0], [100, 20])], ["a", "b"])).toBe(0);
});

// The lines as they are drawn, with y upward from the columns.
function drawn(spans: readonly Span[], tracks: readonly number[]): number {
  const owners: string[] = [];
  const paths = spans.flatMap(({ from, to, above, below }, i) => {
    const y = 10 * (tracks[i]! + 1);
    const all = [line([from, y], [to, y]), ...below.map((x) => line([x, 0], [x, y])), ...above.map((x) => line([x, y], [x, 1000]))];
    owners.push(...all.map(() => String(i)));
    return all;
  });
  return countCrossings(paths, owners);
}

const permuted = (all: readonly number[]): readonly (readonly number[])[] =>
  all.length < 2 ? [all] : all.flatMap((one, at) => permuted([...all.slice(0, at), ...all.slice(at + 1)]).map((rest) => [one, ...rest]));

const span = (from: number, ...down: readonly number[]): Span => ({ from, to: Math.max(...down), above: [], below: [from, ...down] });

test.each<readonly [string, readonly Span[]]>([
  ["nested", [span(0, 900), span(100, 500), span(200, 400)]],
  ["a long one with many ends and a short one that only passes", [span(0, 250, 450, 650, 1000), span(100, 900)]],
  ["beside each other", [span(0, 100), span(200, 300), span(50, 250)]],
  ["into the level", [{ from: 50, to: 700, above: [50], below: [50, 700] }, span(100, 500), span(200, 900, 300)]],
])("tracks of lines (%s) overlap nowhere and cross as rarely as in any order", (_, spans) => {
  const tracks = tracksOf(spans);
  spans.forEach((one, i) =>
    spans.slice(i + 1).forEach((other, at) => {
      if (one.from <= other.to && other.from <= one.to) expect(tracks[i]).not.toBe(tracks[i + 1 + at]);
    }),
  );
  const fewest = Math.min(...permuted(spans.map((_, i) => i)).map((order) => drawn(spans, spans.map((_, i) => order.indexOf(i))))); // prettier-ignore
  expect(drawn(spans, tracks)).toBe(fewest);
});

// Four columns, each with a line to the next; the first is told to all, and something in the second goes to the last.
function level(low: boolean): { readonly columns: readonly Tall[]; readonly sources: readonly Source[] } {
  const ports = (...xs: readonly (readonly [number, "in" | "out"])[]): readonly Point[] =>
    xs.map(([x, way]) => ({ x, y: way === "in" ? 0 : 300 }));
  const column = (all: readonly Point[]): Tall => ({ size: { width: 200, height: 300 }, ports: all, rects: [], paths: [] });
  return {
    columns: [
      column(ports([80, "out"], [120, "out"])),
      column(ports([80, "in"], [120, "in"], [60, "out"], [100, "out"])),
      column(ports([80, "in"], [120, "in"], [100, "out"])),
      column(ports([60, "in"], [100, "in"], [120, "in"])),
    ],
    sources: [
      { column: 0, exit: 0, entries: [{ column: 1, port: 0, low: false }] },
      { column: 0, exit: 1, entries: [1, 2, 3].map((to) => ({ column: to, port: to === 3 ? 2 : 1, low: false })) },
      { column: 1, exit: 2, entries: [{ column: 3, port: 0, low }] },
      { column: 1, exit: 3, entries: [{ column: 2, port: 0, low: false }] },
      { column: 2, exit: 2, entries: [{ column: 3, port: 1, low: false }] },
    ],
  };
}

test("a line to a later column goes there below the columns, through none of them and crossing no other", () => {
  const { columns, sources } = level(true);
  const { ways, offsets, size, starts } = putAbreast(columns, sources, 28);
  const owners = ways.flatMap((all, source) => all.map(() => String(source)));
  expect(countCrossings(ways.flat(), owners)).toBe(0);
  const below = ways[2]![0]!;
  const bottom = offsets[0]!.y + 300;
  expect(Math.max(...below.map(({ y }) => y))).toBeGreaterThan(bottom);
  expect(below[0]).toEqual(starts[2]);
  expect(below.at(-1)).toEqual({ x: offsets[3]!.x + 60, y: offsets[3]!.y });
  for (const path of ways.flat()) {
    path.slice(1).forEach((b, at) => {
      const a = path[at]!;
      expect(Math.min(Math.abs(a.x - b.x), Math.abs(a.y - b.y))).toBe(0);
      for (const point of [a, b])
        expect([point.x >= 0, point.x <= size.width, point.y >= 0, point.y <= size.height]).toEqual([true, true, true, true]);
      offsets.forEach(({ x, y }) => {
        const [left, right] = [Math.min(a.x, b.x), Math.max(a.x, b.x)];
        const [high, deep] = [Math.min(a.y, b.y), Math.max(a.y, b.y)];
        expect(left < x + 200 && right > x && high < y + 300 && deep > y).toBe(false);
      });
    });
  }
  const high = putAbreast(columns, level(false).sources, 28);
  expect(countCrossings(high.ways.flat(), owners)).toBeGreaterThan(0);
});
