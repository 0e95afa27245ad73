// Levels of one straight row, compared with what ELK makes of them.

import type { ElkNode } from "elkjs/lib/elk-api";
import { expect, test } from "vitest";
import { layOutChain } from "../../src/layout/levels/chain_level";
import { BETWEEN_LAYERS, groupOptions, SPACING } from "../../src/layout/levels/elk_graph";
import { runLevel } from "../../src/layout/levels/level_graph";

interface Shape {
  readonly ports?: readonly (readonly [string, "NORTH" | "SOUTH"])[];
  readonly children: readonly ElkNode[];
  readonly edges: readonly (readonly [string, string])[];
  readonly least?: string;
}

function level({ ports = [], children, edges, least = "(0,0)" }: Shape): ElkNode {
  return {
    id: "level",
    layoutOptions: {
      ...SPACING,
      ...groupOptions(children.length),
      "elk.nodeSize.minimum": least,
      ...(ports.length === 0 ? {} : { "elk.portConstraints": "FIXED_SIDE" }),
    },
    ports: ports.map(([id, side]) => ({ id, width: 0, height: 0, layoutOptions: { "elk.port.side": side } })),
    children: [...children],
    edges: edges.map(([from, to], at) => ({ id: `e${at}`, sources: [from], targets: [to] })),
  };
}

const box = (id: string, width: number, height: number): ElkNode => ({ id, width, height });
// An open group, whose lines enter and leave at fixed places.
const group = (id: string, width: number, height: number, x: number): ElkNode => ({
  ...box(id, width, height),
  layoutOptions: { "elk.portConstraints": "FIXED_POS" },
  ports: [
    { id: `${id}p0`, width: 0, height: 0, x, y: 0 },
    { id: `${id}p1`, width: 0, height: 0, x, y: height },
  ],
});
const through = [
  ["p0", "NORTH"],
  ["p1", "SOUTH"],
] as const;

test.each<readonly [string, Shape]>([
  ["one box", { ports: through, children: [box("0", 180, 42)], edges: [["p0", "0"], ["0", "p1"]] }], // prettier-ignore
  ["one box in a wide group", { ports: through, children: [box("0", 180, 42)], edges: [["p0", "0"], ["0", "p1"]], least: "(300,60)" }], // prettier-ignore
  ["a row", { ports: through, children: [box("0", 180, 42), box("1", 90, 60)], edges: [["p0", "0"], ["0", "1"], ["1", "p1"]] }], // prettier-ignore
  ["groups", { ports: through, children: [group("0", 180, 90, 60), group("1", 190, 90, 80)], edges: [["p0", "0p0"], ["0p1", "1p0"], ["1p1", "p1"]] }], // prettier-ignore
  ["without ports", { children: [box("0", 180, 42), box("1", 90, 60)], edges: [["0", "1"]] }],
])("%s is as large as ELK makes it, and its lines are straight", (_, shape) => {
  const graph = level(shape);
  const [own, elk] = [layOutChain(graph)!, runLevel(graph)];
  expect(own.size.height).toBeCloseTo(elk.size.height);
  expect(own.size.width).toBeCloseTo(elk.size.width);
  own.rects.forEach((rect, at) => {
    expect([rect.y, rect.width, rect.height]).toEqual([elk.rects[at]!.y, elk.rects[at]!.width, elk.rects[at]!.height]);
    if (at > 0) expect(rect.y - own.rects[at - 1]!.y - own.rects[at - 1]!.height).toBeCloseTo(BETWEEN_LAYERS);
  });
  own.paths.forEach((path, at) => {
    expect(path.map(({ y }) => y)).toEqual([elk.paths[at]![0]!.y, elk.paths[at]!.at(-1)!.y]);
    expect(path[0]!.x).toBe(path[1]!.x);
  });
  expect(own.ports.map(({ y }) => y)).toEqual(elk.ports.map(({ y }) => y + 0)); // without −0
  (shape.ports ?? []).forEach(([id], port) => {
    const line = shape.edges.findIndex((edge) => edge.includes(id));
    expect(own.ports[port]!.x).toBe(own.paths[line]![0]!.x);
  });
});

test.each<readonly [string, Shape]>([
  ["a line that passes a box", { ports: through, children: [box("0", 90, 42), box("1", 90, 42)], edges: [["p0", "0"], ["0", "1"], ["p0", "1"]] }], // prettier-ignore
  [
    "two lines between the same boxes",
    {
      children: [box("0", 90, 42), box("1", 90, 42)],
      edges: [
        ["0", "1"],
        ["0", "1"],
      ],
    },
  ],
  ["two rows", { children: [box("0", 90, 42), box("1", 90, 42), box("2", 90, 42)], edges: [["0", "1"]] }],
  ["a row that drifts to one side", { children: [group("0", 200, 42, 190), group("1", 200, 42, 10)], edges: [["0p1", "1p0"]] }],
  ["two lines through one port", { ports: through, children: [box("0", 90, 42)], edges: [["p0", "0"], ["p0", "0"]] }], // prettier-ignore
  ["no box", { children: [], edges: [] }],
])("%s is left to ELK", (_, shape) => {
  expect(layOutChain(level(shape))).toBeUndefined();
});
