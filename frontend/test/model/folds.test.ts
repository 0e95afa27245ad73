import { describe, expect, test } from "vitest";
import { activations, chain, recurrent, reshaped, transformer } from "../../fixtures/examples.mjs";
import { blockUnder, cellCount, stripRect } from "../../src/draw/scene/paint_strip";
import type { GraphColumns } from "../../src/model/recorded/graph_columns";
import { statisticOf } from "../../src/model/recorded/statistics";
import type { Hierarchy } from "../../src/model/tree/hierarchy";
import { showGraph, type VisibleGraph } from "../../src/model/visible/collapse";
import { rowBehind, rowsOf } from "../../src/model/visible/line_rows";
import { countBoxes, openAtStart, openUpTo, START_BOXES } from "../../src/model/visible/opening";
import { blockAt, blockOf, cellValues, firstBlock, stripOf } from "../../src/model/visible/strip";
import { computeValues, State } from "../../src/model/visible/values";
import { hierarchyOf, recordAt, type FixtureRun } from "../fixture";

const norm = statisticOf("l2_norm")!;
const groupNamed = (hierarchy: Hierarchy, id: string): number => hierarchy.groupOf.get(id)!;
const titles = (hierarchy: Hierarchy, kind: string): readonly string[] =>
  hierarchy.groups.filter((group) => group.kind === kind).map(({ title, subtitle }) => `${title} ${subtitle}`.trim());

function changed(run: FixtureRun, change: (graph: GraphColumns) => GraphColumns): FixtureRun {
  return { ...run, graph: change(run.graph) };
}

describe("runs of equal blocks", () => {
  test("twelve blocks are one, closed at the start, and one box instead of twelve", () => {
    const hierarchy = hierarchyOf(transformer(12, 1));
    expect(titles(hierarchy, "repeat")).toEqual(["h.0 … h.11 ×12"]);
    const open = openAtStart(hierarchy);
    expect(open.has(groupNamed(hierarchy, "#0~repeat:h.0#0"))).toBe(false);
    expect(open.has(groupNamed(hierarchy, "#0"))).toBe(true);
    expect(showGraph(hierarchy, open).boxes.length).toBeLessThanOrEqual(START_BOXES);
  });

  test("a block of another shape, or with other wiring, splits the run", () => {
    const parted = ["h.0 … h.4 ×5", "h.6 … h.11 ×6"];
    const weight = transformer(12, 1).graph.nodes.key.indexOf("parameter:h.5.mlp.0.bias");
    const wider = changed(transformer(12, 1), (graph) => ({
      ...graph,
      slots: { ...graph.slots, shape: graph.slots.shape.map((shape, row) => (row === weight ? [64] : shape)) },
    }));
    expect(titles(hierarchyOf(wider), "repeat")).toEqual(parted);
    const rewired = changed(transformer(12, 1), (graph) => {
      const at = (key: string): number => graph.nodes.key.indexOf(key);
      const [from, to] = [at("h.5#0/AddBackward0.0"), at("h.5#0/GeluBackward0.0")];
      return {
        ...graph,
        edges: { ...graph.edges, source: graph.edges.source.map((source, edge) => (graph.edges.target[edge] === to ? from : source)) },
      };
    });
    expect(titles(hierarchyOf(rewired), "repeat")).toEqual(parted);
  });

  test("if a level cannot open fully, its runs open first, before other siblings", () => {
    const weight = transformer(12, 1).graph.nodes.key.indexOf("parameter:h.0.mlp.0.bias");
    const hierarchy = hierarchyOf(
      changed(transformer(12, 1), (graph) => ({
        ...graph,
        slots: { ...graph.slots, shape: graph.slots.shape.map((shape, row) => (row === weight ? [64] : shape)) },
      })),
    );
    const closed = countBoxes(hierarchy, new Set([groupNamed(hierarchy, "#0")]));
    const opened = [...openUpTo(hierarchy, closed + 11)].map((group) => hierarchy.groups[group]!.title);
    expect(opened).toContain("h.1 … h.11");
    expect(opened).not.toContain("h.0");
  });

  test("three blocks are not folded; a small graph opens with its runs", () => {
    expect(titles(hierarchyOf(transformer(3, 1)), "repeat")).toEqual([]);
    const hierarchy = hierarchyOf(recurrent(6));
    expect(titles(hierarchy, "repeat")).toEqual(["cell#0 … cell#5 ×6"]);
    expect(openAtStart(hierarchy)).toEqual(openUpTo(hierarchy, START_BOXES));
    expect(openAtStart(hierarchy).has(groupNamed(hierarchy, "#0~repeat:cell#0"))).toBe(true);
  });

  test("the call that gets the input is equal to the other two thousand", () => {
    const hierarchy = hierarchyOf(recurrent(2000));
    expect(titles(hierarchy, "repeat")).toEqual(["cell#0 … cell#1999 ×2000"]);
    const strip = stripOf(hierarchy, groupNamed(hierarchy, "#0~repeat:cell#0"))!;
    expect([strip.count, strip.period, strip.children.length]).toEqual([2000, 1, 2000]);
    expect(blockAt(hierarchy, strip, 1234)).toEqual({ id: "cell#1234", title: "cell#1234 RNNCell" });
    expect(blockOf(hierarchy, strip, "cell#1234/TanhBackward0.0")).toBe(1234);
    expect(blockOf(hierarchy, strip, "root:loss")).toBe(-1);
  });

  test("a long run opens in parts that are runs themselves, so at most a hundred boxes are shown", () => {
    const hierarchy = hierarchyOf(recurrent(160));
    const parts = hierarchy.groups[groupNamed(hierarchy, "#0~repeat:cell#0")]!.children.map((child) => hierarchy.groups[child]!);
    expect(parts.map(({ title, run }) => [title, run?.count])).toEqual(
      Array.from({ length: 8 }, (_, i) => [`${20 * i + 1}–${20 * i + 20}`, 20]),
    );
    for (const { kind, children } of hierarchyOf(recurrent(30_000)).groups)
      if (kind !== "module") expect(children.length).toBeLessThanOrEqual(100);
  });

  test("a level that is one run is marked as a run", () => {
    const alone = changed(recurrent(100), (graph) => ({
      ...graph,
      nodes: {
        ...graph.nodes,
        scope: graph.nodes.scope.map((scope, node) => (graph.nodes.operation[node] === "SumBackward0" ? -1 : scope)),
      },
    }));
    const hierarchy = hierarchyOf(alone);
    expect(hierarchy.groups[groupNamed(hierarchy, "#0")]).toMatchObject({ subtitle: "×100", run: { period: 1, count: 100 } });
    expect(titles(hierarchy, "repeat")).toEqual([]);
    expect(openAtStart(hierarchy).has(groupNamed(hierarchy, "#0"))).toBe(false); // a hundred boxes are too many
    expect(titles(hierarchyOf(chain(100, false)), "repeat")).toEqual(["mul ×100"]);
  });

  test("an activation and its neighbor make blocks of two", () => {
    expect(hierarchyOf(activations()).groups.some(({ run }) => run !== undefined)).toBe(false);
  });
});

describe("the strip", () => {
  test("a cell shows the number of its block: the greatest inside", () => {
    const run = transformer(12, 1);
    const hierarchy = hierarchyOf(run);
    const values = computeValues(hierarchy, recordAt(run, 0), norm);
    const strip = stripOf(hierarchy, groupNamed(hierarchy, "#0~repeat:h.0#0"))!;
    const { value, state } = cellValues(hierarchy, strip, 12, values, norm);
    const expected = Array.from({ length: 12 }, (_, block) => {
      const inside = run.graph.nodes.key.flatMap((key, node) =>
        key.replace("parameter:", "").match(/^h\.(\d+)[.#]/)?.[1] === String(block) ? [values.nodes.value[node]!] : [],
      );
      expect(inside).toHaveLength(19);
      return Math.max(...inside);
    });
    expect([...value]).toEqual(expected);
    expect([...state]).toEqual(Array.from({ length: 12 }, () => State.number));
  });

  test("if there are fewer cells than blocks, each shows the greatest of several, and none is left out", () => {
    const run = recurrent(2000);
    const hierarchy = hierarchyOf(run);
    const values = computeValues(hierarchy, recordAt(run, 0), norm);
    const strip = stripOf(hierarchy, groupNamed(hierarchy, "#0~repeat:cell#0"))!;
    const { value } = cellValues(hierarchy, strip, 92, values, norm);
    // The gradient of call c's tanh is row 3 + 2 c.
    expect([...value]).toEqual(Array.from({ length: 92 }, (_, cell) => 3 + 2 * (firstBlock(strip, cell + 1, 92) - 1)));
  });

  test("a tensor that all blocks use counts for none of them, but for all together", () => {
    const run = recurrent(20);
    const hierarchy = hierarchyOf(run);
    const { groups } = computeValues(hierarchy, recordAt(run, 0), norm);
    const value = (id: string): number => groups.value[groupNamed(hierarchy, id)]!;
    expect([value("cell#0"), value("cell#19"), value("#0~repeat:cell#0"), value("#0")]).toEqual([3, 41, 1000, 1000]);
  });

  test("the same holds if the blocks are single operations", () => {
    const run = chain(100);
    const hierarchy = hierarchyOf(run);
    const values = computeValues(hierarchy, recordAt(run, 0), norm);
    const strip = stripOf(
      hierarchy,
      hierarchy.groups.findIndex(({ kind }) => kind === "repeat"),
    )!;
    const { value } = cellValues(hierarchy, strip, strip.count, values, norm);
    expect(strip).toMatchObject({ period: 2, count: 99 }); // the first one multiplies nothing that was made before
    expect([...value]).toEqual([...values.nodes.value].slice(2));
  });

  test("a point on the strip gives its block, a point outside gives none", () => {
    const strip = { period: 1, count: 300, children: Array.from({ length: 300 }, (_, i) => i) };
    const face = { x: 10, y: 20, width: 200, height: 60 };
    const { x, y, width, height } = stripRect(face);
    expect(cellCount(strip, face.width)).toBeLessThan(300);
    expect(blockUnder(strip, face, { x, y })).toBe(0);
    expect(blockUnder(strip, face, { x: x + width - 0.01, y: y + height })).toBeGreaterThan(290);
    expect(blockUnder(strip, face, { x: x + width / 2, y: face.y + 5 })).toBeUndefined();
    expect(cellCount({ ...strip, count: 5 }, 200)).toBe(5);
  });
});

describe("chains of operations that only change the shape", () => {
  const hierarchy = hierarchyOf(reshaped());
  const everything = new Set(hierarchy.groups.flatMap(({ kind }, group) => (kind === "chain" ? [] : [group])));
  const lines = ({ boxes, edges }: VisibleGraph): readonly string[] =>
    edges.map(
      ({ source, target, chains }) =>
        `${boxes[source]!.id} > ${boxes[target]!.id}${chains.map((one) => ` (${hierarchy.groups[one]!.title})`).join("")}`,
    );

  test("are part of a line; an operation that is alone, used twice or retained is not", () => {
    expect(titles(hierarchy, "chain")).toEqual(["t", "view → transpose", "clone → unsafe_view"]);
    const visible = showGraph(hierarchy, everything);
    expect(lines(visible)).toEqual([
      "input:x > lin#0/MmBackward0.0",
      "parameter:lin.weight > lin#0/MmBackward0.0 (t)",
      "lin#0/MmBackward0.0 > #0/SoftmaxBackward0.0 (view → transpose)",
      "#0/SoftmaxBackward0.0 > #0/TanhBackward0.0 (clone → unsafe_view)",
      "#0/TanhBackward0.0 > flatten#0/ViewBackward0.0",
      "flatten#0/ViewBackward0.0 > #0/ViewBackward0.1",
      "#0/ViewBackward0.1 > #0/ViewBackward0.2",
      "#0/ViewBackward0.2 > #0/MulBackward0.0",
      "#0/ViewBackward0.2 > #0/MulBackward0.0",
      "#0/MulBackward0.0 > root:out",
    ]);
    expect(visible.boxes).toHaveLength(countBoxes(hierarchy, everything));
  });

  test("when open, they are boxes among the others; nothing else changes", () => {
    const group = groupNamed(hierarchy, "~chain:#0/ViewBackward0.0");
    const [closed, open] = [everything, new Set([...everything, group])].map((one) => showGraph(hierarchy, one));
    expect(open!.boxes.length).toBe(closed!.boxes.length + 2);
    expect(open!.boxes).toHaveLength(countBoxes(hierarchy, new Set([...everything, group])));
    const view = open!.boxes.find(({ id }) => id === "#0/ViewBackward0.0")!;
    expect(open!.boxes[view.parent]!.id).toBe("#0");
    expect(lines(open!)).toContain("#0/ViewBackward0.0 > #0/TransposeBackward0.0");
  });

  test("inside a closed module they are part of the module", () => {
    const { boxes, edges } = showGraph(hierarchy, new Set([groupNamed(hierarchy, "#0")]));
    expect(
      edges.filter(({ source, target }) => [source, target].some((box) => boxes[box]!.id === "lin#0")).map(({ chains }) => chains.length),
    ).toEqual([0, 1]);
  });

  test("an unread share is the gradient of an operation that passes it on unchanged, unless elements are summed", () => {
    const row = (change: (graph: GraphColumns) => GraphColumns, to: string, unread = true): string => {
      const { graph } = hierarchyOf(changed(reshaped(), change));
      const edge = [...graph.edgeTarget].findIndex((target) => graph.columns.nodes.key[target] === to);
      const own = graph.edgeRow[edge]!;
      const found = rowBehind(graph, edge, (one) => !unread || one !== own);
      return found === own ? "own" : graph.columns.nodes.key[found]!;
    };
    const as =
      (key: string, operation: string) =>
      (graph: GraphColumns): GraphColumns => ({
        ...graph,
        nodes: { ...graph.nodes, operation: graph.nodes.operation.map((one, node) => (graph.nodes.key[node] === key ? operation : one)) },
      });
    const same = (graph: GraphColumns): GraphColumns => graph;
    expect(row(same, "#0/ViewBackward0.0")).toBe("#0/ViewBackward0.0");
    expect(row(same, "#0/ViewBackward0.0", false)).toBe("own");
    expect(row(same, "#0/SoftmaxBackward0.0")).toBe("own");
    expect(row(as("#0/SoftmaxBackward0.0", "AddBackward0"), "#0/SoftmaxBackward0.0")).toBe("#0/SoftmaxBackward0.0");
    const wider = (graph: GraphColumns): GraphColumns => ({
      ...graph,
      slots: { ...graph.slots, shape: graph.slots.shape.map((shape, slot) => (slot === 4 ? [8, 2, 3] : shape)) },
    });
    expect(row(wider, "#0/ViewBackward0.0")).toBe("own");
    // The second summand may have been multiplied by alpha.
    const second = (graph: GraphColumns): GraphColumns => ({
      ...as("#0/SoftmaxBackward0.0", "AddBackward0")(graph),
      edges: { ...graph.edges, target_input: graph.edges.target_input.map(() => 1) },
    });
    expect(row(second, "#0/SoftmaxBackward0.0")).toBe("own");
  });

  test("a line that holds all uses of a tensor carries its whole gradient", () => {
    const closed = hierarchyOf(transformer(12, 1));
    const visible = showGraph(closed, new Set([groupNamed(closed, "#0"), groupNamed(closed, "#0~repeat:h.0#0")]));
    const into = visible.edges.find(({ target }) => visible.boxes[target]!.id === "h.3#0")!;
    expect(into.edges).toHaveLength(2);
    expect(rowsOf(closed.graph, into, () => true)).toEqual([closed.graph.columns.nodes.key.indexOf("h.2#0/AddBackward0.1")]);
  });
});
