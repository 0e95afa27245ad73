import { expect, test } from "vitest";
import { graphOf, runOf } from "../../fixtures/build.mjs";
import { recurrent, reshaped } from "../../fixtures/examples.mjs";
import type { Hierarchy } from "../../src/model/tree/hierarchy";
import { showGraph } from "../../src/model/visible/collapse";
import { lightPath } from "../../src/model/visible/paths";
import { hierarchyOf, type FixtureRun } from "../fixture";

const all = (hierarchy: Hierarchy): ReadonlySet<number> => new Set(hierarchy.groups.keys());

function litFrom(hierarchy: Hierarchy, open: ReadonlySet<number>, id: string): ReadonlySet<string> {
  const visible = showGraph(hierarchy, open);
  const lit = lightPath(
    hierarchy,
    visible,
    visible.boxes.findIndex((box) => box.id === id),
  )!;
  return new Set(visible.boxes.filter((_, box) => lit.boxes[box] === 1).map((box) => box.id));
}

// A made-up graph of 10,000 operations, each of up to three earlier ones; the last is the loss, many lead nowhere.
function random(count: number): FixtureRun {
  let seed = 7;
  const next = (end: number): number => (seed = (seed * 48271) % 2147483647) % end;
  const nodes = Array.from({ length: count }, (_, i) => ({
    key: `/n.${i}`,
    kind: i === count - 1 ? "root" : "operation",
    operation: i === count - 1 ? "" : "MulBackward0",
    shape: [i],
  }));
  const edges = nodes.flatMap((_, i) =>
    i < 50 ? [] : [...new Set([next(i), next(i), Math.max(0, i - 1 - next(40))])].map((from) => [from, i]),
  );
  return runOf("random", "random", graphOf({ hash: "4a4d", nodes, edges } as never), []) as unknown as FixtureRun;
}

test("of 10,000 nodes, lights what an independent search finds, and no path without a loss", () => {
  const hierarchy = hierarchyOf(random(10_000));
  const { graph } = hierarchy;
  const ends = Array.from({ length: graph.nodeCount }, (): { to: number[]; from: number[] } => ({ to: [], from: [] }));
  graph.edgeSource.forEach((source, edge) => {
    ends[source]!.to.push(graph.edgeTarget[edge]!);
    ends[graph.edgeTarget[edge]!]!.from.push(source);
  });
  const reached = (start: number, way: "to" | "from"): Set<number> => {
    const seen = new Set([start]);
    for (const node of seen) for (const other of ends[node]![way]) seen.add(other);
    return seen;
  };
  const toLoss = reached(graph.nodeCount - 1, "from");
  expect(toLoss.size).toBeLessThan(graph.nodeCount);
  const open = all(hierarchy);
  for (const node of [0, 4321, 9990, [...Array(graph.nodeCount).keys()].find((one) => !toLoss.has(one))!]) {
    const expected = new Set([...reached(node, "from"), ...[...reached(node, "to")].filter((one) => toLoss.has(one)), node]);
    expect(litFrom(hierarchy, open, `/n.${node}`)).toEqual(new Set([...expected].map((one) => `/n.${one}`)));
  }
});

test("a closed module lights what enters and leaves it; the loss and the leaves are on the way", () => {
  const hierarchy = hierarchyOf(reshaped());
  const open = new Set([hierarchy.groupOf.get("#0")!]);
  expect(litFrom(hierarchy, open, "lin#0")).toEqual(
    new Set(
      showGraph(hierarchy, open)
        .boxes.filter((box) => !box.open)
        .map(({ id }) => id),
    ),
  );
  const visible = showGraph(hierarchy, open);
  expect(
    lightPath(
      hierarchy,
      visible,
      visible.boxes.findIndex((box) => box.open),
    ),
  ).toBeUndefined(); // an open one is no place on a way
});

test("the path continues through a chain that is folded into a line", () => {
  const hierarchy = hierarchyOf(reshaped());
  const open = new Set(hierarchy.groups.flatMap(({ kind }, group) => (kind === "chain" ? [] : [group])));
  const lit = litFrom(hierarchy, open, "parameter:lin.weight");
  expect([...lit]).toEqual(expect.arrayContaining(["lin#0/MmBackward0.0", "#0/SoftmaxBackward0.0", "root:out"]));
  expect(lit.has("input:x")).toBe(false);
});

test("a copy of a shared weight lights the path from its own use", () => {
  const hierarchy = hierarchyOf(recurrent(12));
  const copy = [...hierarchy.itemNode.keys()].filter((item) => hierarchy.itemNode[item] === 0)[6]!;
  const lit = litFrom(hierarchy, all(hierarchy), `parameter:cell.weight (copy ${copy})`);
  expect(lit.has("cell#6/MmBackward0.0")).toBe(true);
  expect(lit.has("cell#5/TanhBackward0.0")).toBe(false);
});
