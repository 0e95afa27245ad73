// Norms, activations and dropouts as rows in the box of the layer before them.

import { expect, test } from "vitest";
import { activations, chainRule, recurrent, reshaped, transformer } from "../../fixtures/examples.mjs";
import type { GraphColumns } from "../../src/model/recorded/graph_columns";
import { isInside, showGraph, type VisibleGraph } from "../../src/model/visible/collapse";
import { openAtStart, openUpTo } from "../../src/model/visible/opening";
import { hierarchyOf, type FixtureRun } from "../fixture";

const keyed = (visible: VisibleGraph): Record<string, string> =>
  Object.fromEntries(
    visible.boxes.flatMap(({ id }, box) => (visible.holder[box] === -1 ? [] : [[id, visible.boxes[visible.holder[box]!]!.id]])),
  );

function changed(run: FixtureRun, change: (graph: GraphColumns) => GraphColumns): FixtureRun {
  return { ...run, graph: change(run.graph) };
}

const shown = (run: FixtureRun, folded = true): VisibleGraph => {
  const hierarchy = hierarchyOf(run);
  return showGraph(hierarchy, openAtStart(hierarchy), folded);
};

const MM = "0#0/MmBackward0.0";

test("an activation after a layer, and one after it, are rows in the layer's box; otherwise only its weight is", () => {
  const weight = { "parameter:0.weight": MM };
  expect(keyed(shown(activations()))).toEqual({ ...weight, "1#0/SigmoidBackward0.0": MM, "2#0/TanhBackward0.0": MM });
  expect(keyed(shown(activations(), false))).toEqual(weight);
});

test("lines from a box to its rows are inside it; that of the last row leads on", () => {
  const visible = shown(activations());
  const outside = visible.edges
    .filter((edge) => !isInside(visible, edge))
    .map(({ source, target }) => [source, target].map((box) => visible.boxes[box]!.id));
  expect(outside).toEqual([
    ["input:x", MM],
    ["2#0/TanhBackward0.0", "root:out"],
  ]);
});

test("what something else uses too is followed by nothing, and what something else feeds follows nothing", () => {
  const at = (graph: GraphColumns, key: string): number => graph.nodes.key.indexOf(key);
  const joined = (from: string, to: string): FixtureRun =>
    changed(activations(), (graph) => {
      const { source, target, source_slot: slot, target_input: input, row } = graph.edges;
      return {
        ...graph,
        edges: {
          source: [...source, at(graph, from)],
          target: [...target, at(graph, to)],
          source_slot: [...slot, 0],
          target_input: [...input, 1],
          row: [...row, row[0]!],
        },
      };
    });
  expect(keyed(shown(joined(MM, "root:out")))).toEqual({ "parameter:0.weight": MM, "2#0/TanhBackward0.0": "1#0/SigmoidBackward0.0" });
  expect(keyed(shown(joined("input:x", "2#0/TanhBackward0.0")))).toEqual({ "parameter:0.weight": MM, "1#0/SigmoidBackward0.0": MM });
});

test("an operation of another kind is no row, nor is an activation of a single number", () => {
  const other = changed(activations(), (graph) => ({
    ...graph,
    nodes: { ...graph.nodes, operation: graph.nodes.operation.map((name) => (name === "SigmoidBackward0" ? "SortBackward0" : name)) },
  }));
  expect(keyed(shown(other))).toEqual({ "parameter:0.weight": MM, "2#0/TanhBackward0.0": "1#0/SigmoidBackward0.0" });
  const scalar = changed(activations(), (graph) => ({ ...graph, slots: { ...graph.slots, shape: graph.slots.shape.map(() => [1, 1]) } }));
  expect(keyed(shown(scalar))).toEqual({ "parameter:0.weight": MM });
});

test("a norm is a closed row at the start, and a box after it was opened", () => {
  const normed = changed(activations(), (graph) => ({
    ...graph,
    scopes: { ...graph.scopes, module: graph.scopes.module.map((name) => (name === "Sigmoid" ? "RMSNorm" : name)) },
    // The norm consists of two operations.
    nodes: { ...graph.nodes, operation: graph.nodes.operation.map((name) => (name === "SigmoidBackward0" ? "RsqrtBackward0" : name)) },
  }));
  const two = changed(normed, (graph) => ({
    ...graph,
    nodes: { ...graph.nodes, scope: graph.nodes.scope.map((scope) => (scope === 3 ? 2 : scope)) },
  }));
  const hierarchy = hierarchyOf(two);
  const open = openAtStart(hierarchy);
  const norm = hierarchy.groupOf.get("1#0")!;
  expect(open.has(norm)).toBe(false);
  expect(keyed(showGraph(hierarchy, open, true))).toEqual({ "parameter:0.weight": MM, "1#0": MM });
  expect(openUpTo(hierarchy, 100).has(norm)).toBe(true);
  expect(Object.keys(keyed(showGraph(hierarchy, new Set([...open, norm]), true)))).not.toContain("1#0");
});

test.each([
  ["transformer", transformer(2, 1)],
  ["recurrent", recurrent(6, 1)],
  ["reshaped", reshaped()],
  ["chain rule", chainRule()],
] as const)("in a drawing of a whole net (%s), what follows has one line in, from what has no other line out", (_, run) => {
  const hierarchy = hierarchyOf(run as FixtureRun);
  const open = openUpTo(hierarchy, 1000);
  const [plain, folded] = [showGraph(hierarchy, open), showGraph(hierarchy, open, true)];
  expect(folded.boxes).toEqual(plain.boxes);
  expect(folded.edges).toEqual(plain.edges);
  folded.boxes.forEach(({ id }, box) => {
    if (folded.holder[box] === plain.holder[box]) return;
    const into = folded.edges.filter(({ target }) => target === box);
    expect([id, into.length]).toEqual([id, 1]);
    const before = into[0]!.source;
    expect(folded.edges.filter(({ source }) => source === before)).toHaveLength(1);
    expect(folded.holder[box]).toBe(folded.holder[before] === -1 ? before : folded.holder[before]);
    expect(folded.holder[folded.holder[box]!]).toBe(-1);
  });
});
