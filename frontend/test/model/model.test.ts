import { describe, expect, test } from "vitest";
import { chain, chainRule, marks, states, transformer } from "../../fixtures/examples.mjs";
import { shortenPaths } from "../../src/base/format";
import { indexText, pictureOf } from "../../src/model/charts/array_picture";
import { isCut, saysNone, whyNone, wordFor } from "../../src/model/recorded/gradient_flow";
import { parseGraph } from "../../src/model/recorded/graph";
import { hasShape, operationLabel, shapeTextOf } from "../../src/model/recorded/labels";
import { bytesOf } from "../../src/model/recorded/record";
import { nearestRecord, type RecordRef } from "../../src/model/recorded/run";
import { statisticOf } from "../../src/model/recorded/statistics";
import { FOLD_ABOVE } from "../../src/model/tree/folding";
import { showGraph } from "../../src/model/visible/collapse";
import { countBoxes, MOST_BOXES, openUpTo, START_BOXES } from "../../src/model/visible/opening";
import { computeValues, State, summarizeRows } from "../../src/model/visible/values";
import { hierarchyOf, recordAt, type FixtureRun } from "../fixture";

const norm = statisticOf("l2_norm")!;

describe("pictures of arrays", () => {
  test.each([
    [[6, 8], 48, 8, 6], // a matrix as it is
    [[40], 40, 40, 1], // a short vector in one row
    [[100], 100, 10, 10], // a long one wrapped
    [[8, 4, 3, 3], 288, 15, 31], // a convolution: input channels across, output channels down
    [[64, 1, 3, 3], 576, 31, 31], // one channel would be a strip
  ] as const)("%j", (shape, length, columns, rows) => {
    const picture = pictureOf(shape, length);
    expect([picture.columns, picture.rows]).toEqual([columns, rows]);
    const shown = [...picture.cells].filter((element) => element !== -1).sort((a, b) => a - b);
    expect(shown).toEqual(Array.from({ length }, (_, i) => i));
  });

  test("the index of an element is written as in Python", () => {
    expect(indexText([2, 3, 4], 17)).toBe("[1, 1, 1]");
  });
});

test.each([
  ["/home/me/net/src/net.py:12 in forward", "src/net.py:12 in forward"],
  [
    "Cut off from the loss by detach (/home/me/my nets/net.py:7 in forward).",
    "Cut off from the loss by detach (my nets/net.py:7 in forward).",
  ],
  ["torch.autograd.Function MyReLU, C:\\Users\\me\\net.py:7", "torch.autograd.Function MyReLU, me\\net.py:7"],
  ["net.py:7 in forward", "net.py:7 in forward"],
  ["demo/net.py:7 in forward", "demo/net.py:7 in forward"],
  ["a / b ratio", "a / b ratio"],
])("the path in %j is shortened", (text, short) => {
  expect(shortenPaths(text)).toBe(short);
});

test("a record's size counts the arrays that are kept whole", () => {
  const { values, present } = recordAt(marks(), 0);
  expect(bytesOf(recordAt(marks(), 0))).toBe(values.byteLength + present.byteLength + 8 * (48 + 2 + 1 + 1 + 2 + 1 + 1));
});

describe("why there is no gradient", () => {
  const { graph } = hierarchyOf(marks());
  const record = recordAt(marks(), 0);

  test("edges into operations that pass on no gradient are cuts; others are not", () => {
    expect(Array.from({ length: graph.edgeCount }, (_, edge) => isCut(graph, edge))).toEqual([false, true, false, false, false, false]);
  });

  test.each([
    ["frozen", "frozen"],
    ["unused", "unused"],
    ["cut", "cut off"],
    ["no_grad", "under no_grad"],
    ["not_in_loss", "not in loss"],
    ["constructor", undefined],
    ["", undefined],
  ])("%j is %s on a box", (reason, word) => {
    expect(wordFor(reason)).toBe(word);
  });

  test.each([
    ["/MmBackward0.0", "None: this backward did not reach it."],
    ["/detach.0", "None: detach passes on no gradient."],
    ["parameter:a", undefined], // its note says it
    ["parameter:b", undefined], // it has one
  ])("%s", (key, sentence) => {
    const node = graph.columns.nodes.key.indexOf(key);
    expect(whyNone(graph, node, graph.slotOffset[node]!, record)).toBe(sentence);
  });
});

describe("what a watch did not read", () => {
  const { graph } = hierarchyOf(marks());
  const record = recordAt(marks(), 0);
  const watched = { ...record, everyNSteps: 10 };

  test("is not reported as missing, except for leaves and tensors that need no gradient", () => {
    const says = (key: string) => saysNone(graph, graph.columns.nodes.key.indexOf(key), watched);
    expect(says("/MmBackward0.0")).toBe(false);
    expect(says("/detach.0")).toBe(true);
    expect(says("parameter:a")).toBe(true);
    expect(saysNone(graph, graph.columns.nodes.key.indexOf("/MmBackward0.0"), record)).toBe(true);
  });

  test("is explained in a sentence", () => {
    const node = graph.columns.nodes.key.indexOf("/MmBackward0.0");
    expect(whyNone(graph, node, graph.slotOffset[node]!, watched)).toMatch(/^Not recorded: a watch reads every node/);
  });
});

describe("collapse", () => {
  test("a small graph opens fully, with one box a node and group", () => {
    const hierarchy = hierarchyOf(states());
    const visible = showGraph(hierarchy, openUpTo(hierarchy, START_BOXES));
    expect(visible.boxes).toHaveLength(hierarchy.graph.nodeCount + hierarchy.groups.length);
    expect(visible.edges).toHaveLength(hierarchy.graph.edgeCount);
  });

  test("a module called three times is three groups, numbered", () => {
    const titles = hierarchyOf(states()).groups.map((group) => group.title);
    expect(titles).toEqual(["Net", "lin#0", "lin#1", "lin#2"]);
  });

  test("edges between closed groups are merged, none is lost", () => {
    const hierarchy = hierarchyOf(transformer(12, 1));
    const open = new Set([hierarchy.groupOf.get("#0")!]);
    const visible = showGraph(hierarchy, open);
    const pairs = visible.edges.map(({ source, target }) => `${source}>${target}`);
    expect(new Set(pairs).size).toBe(pairs.length);
    const stood = visible.edges.flatMap(({ edges }) => edges);
    expect(new Set(stood).size).toBe(stood.length);
  });

  test("equal blocks open together or not at all, within the limit", () => {
    const hierarchy = hierarchyOf(transformer(12, 1));
    const open = openUpTo(hierarchy, START_BOXES);
    expect(countBoxes(hierarchy, open)).toBeLessThanOrEqual(START_BOXES);
    const blocks = hierarchy.groups.filter(({ subtitle }) => subtitle === "Block");
    expect(new Set(blocks.map(({ id }) => open.has(hierarchy.groupOf.get(id)!))).size).toBe(1);
    expect(countBoxes(hierarchy, open)).toBe(showGraph(hierarchy, open).boxes.length);
  });

  test("48 equal blocks fold into one group that says so", () => {
    const fold = hierarchyOf(transformer(48, 1)).groups.find(({ kind }) => kind === "repeat");
    expect(fold).toMatchObject({ title: "h.0 … h.47", subtitle: "×48" });
    expect(fold?.children).toHaveLength(48);
  });

  test("a chain of 30,000 folds so that no level is above the limit; a shared weight is beside each user", () => {
    const hierarchy = hierarchyOf(chain(30_000));
    for (const { children } of hierarchy.groups) expect(children.length).toBeLessThanOrEqual(2 * FOLD_ABOVE);
    expect(hierarchy.itemNode.length).toBe(60_000);
    expect(countBoxes(hierarchy, openUpTo(hierarchy, MOST_BOXES))).toBeLessThanOrEqual(MOST_BOXES);
  });

  test("a chunk never feeds an earlier one", () => {
    const hierarchy = hierarchyOf(chain(5000));
    const { boxes, edges } = showGraph(hierarchy, openUpTo(hierarchy, START_BOXES));
    expect(boxes.length).toBeGreaterThan(5);
    for (const { source, target } of edges) expect(source).toBeLessThan(target);
  });

  test("graphs with invalid indices are refused with a message", () => {
    const { graph } = chainRule();
    const broken = { ...graph, edges: { ...graph.edges, target: graph.edges.target.map(() => 99) } };
    expect(parseGraph(broken)).toEqual({ ok: false, error: "graph: edges.target holds 99, expected 0..6." });
  });
});

describe("values", () => {
  test("a group is summarized by the greatest magnitude inside", () => {
    const run = transformer(12, 1);
    const hierarchy = hierarchyOf(run);
    const values = computeValues(hierarchy, recordAt(run, 0), norm);
    const all = [...values.nodes.value].filter((value) => !Number.isNaN(value));
    expect(values.groups.value[hierarchy.groupOf.get("#0")!]).toBe(Math.max(...all.slice(0, hierarchy.graph.nodeCount - 2)));
  });

  test("NaN, zero, missing and plain are four states; NaN wins in groups", () => {
    const run = states();
    const hierarchy = hierarchyOf(run);
    const values = computeValues(hierarchy, recordAt(run, 10), norm);
    expect([...values.nodes.state.subarray(0, 6)]).toEqual([
      State.none,
      State.number,
      State.nonfinite,
      State.zero,
      State.none,
      State.nonfinite,
    ]);
    expect(values.nodes.value[2]).toBe(1);
    expect(values.nodes.value[5]).toBeNaN();
    expect(values.groups.state[hierarchy.groupOf.get("#0")!]).toBe(State.nonfinite);
  });

  test("std of one element does not exist, which is neither zero nor missing", () => {
    const run = chainRule();
    const values = computeValues(hierarchyOf(run), recordAt(run, 0), statisticOf("std")!);
    expect(values.nodes.state[0]).toBe(State.unknown);
    expect(values.nodes.state[1]).toBe(State.none);
  });

  test("a negative mean keeps its sign; counts are summed", () => {
    const run = states();
    const hierarchy = hierarchyOf(run);
    const one = computeValues(hierarchyOf(chainRule()), recordAt(chainRule(), 0), statisticOf("mean")!);
    expect(one.nodes.value[2]).toBe(-4);
    const bad = computeValues(hierarchy, recordAt(run, 10), statisticOf("nonfinite")!);
    expect(bad.groups.value[hierarchy.groupOf.get("#0")!]).toBe(2);
  });

  test("the two paths into x carry their own shares", () => {
    const run = chainRule();
    const { graph } = hierarchyOf(run);
    const { rows } = computeValues(hierarchyOf(run), recordAt(run, 0), statisticOf("mean")!);
    const shares = [0, 1].map((edge) => summarizeRows(rows, [graph.edgeRow[edge]!], norm).value);
    expect(shares).toEqual([-4, 8]);
  });
});

test("operations have the names that users write", () => {
  expect(
    ["AddmmBackward0", "NativeLayerNormBackward0", "TBackward0", "MyReLUBackward", "CopyBackwards", "AccumulateGrad", ""].map(
      operationLabel,
    ),
  ).toEqual(["addmm", "native_layer_norm", "t", "MyReLU", "copy", "AccumulateGrad", ""]);
});

test("a tensor of unknown shape is not called a scalar", () => {
  const run = chainRule();
  const texts = (dtype: string): string[] => {
    const dtypes = run.graph.slots.dtype.map((known: string, row: number) => (row === 0 ? dtype : known));
    const { graph } = hierarchyOf({ ...run, graph: { ...run.graph, slots: { ...run.graph.slots, dtype: dtypes } } } as FixtureRun);
    return [String(hasShape(graph, 0)), shapeTextOf(graph, 0), shapeTextOf(graph, 1), shapeTextOf(graph, graph.slotCount)];
  };
  expect(texts("float32")).toEqual(["true", "scalar", "scalar", ""]);
  expect(texts("unknown")).toEqual(["false", "unknown shape", "scalar", ""]);
});

test("for a step that was not recorded the nearest one is used, the earlier of two", () => {
  const records = [0, 10, 10, 20].map((step, i) => ({ step, backwardPass: i === 2 ? 1 : 0 }) as RecordRef);
  expect(
    [
      [-5, 0],
      [10, 0],
      [10, 1],
      [16, 0],
      [14, 1],
      [15, 1],
      [99, 0],
    ].map(([step, pass]) => nearestRecord(records, step!, pass!)),
  ).toEqual([0, 1, 2, 3, 2, 2, 3]);
});
