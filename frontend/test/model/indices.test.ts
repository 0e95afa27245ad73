// Indices and masks have numbers of their own, but do not count to their module.

import { expect, test } from "vitest";
import { withTokens } from "../../fixtures/halves.mjs";
import { cellAt } from "../../src/model/flow/flow";
import { entityOf, everyGroup, listRows } from "../../src/model/flow/flow_rows";
import { isIndices } from "../../src/model/recorded/graph";
import { DEFAULT_STATISTIC } from "../../src/model/recorded/statistics";
import { computeValues } from "../../src/model/visible/values";
import { flowOf, hierarchyOf, recordAt } from "../fixture";

const hierarchy = hierarchyOf(withTokens());
const group = hierarchy.groupOf.get("emb#0")!;

test("the greatest value in a module is not that of its tokens", () => {
  const { groups, nodes } = computeValues(hierarchy, recordAt(withTokens(), 0, "forward"), DEFAULT_STATISTIC);
  expect(nodes.value[0]).toBe(900);
  expect(groups.value[group]).toBe(3);
});

test("in Flow what counts has a row, and tokens and masks have none", () => {
  const flow = flowOf(withTokens(), DEFAULT_STATISTIC, "forward");
  const rows = listRows(flow.hierarchy, everyGroup(flow.hierarchy), flow.shown);
  expect(
    rows
      .map(({ id }) => id)
      .filter((id) => /^(buffer|constant|parameter):/.test(id))
      .sort(),
  ).toEqual(["buffer:scale", "parameter:weight"]);
  const scale = rows.find(({ id }) => id === "buffer:scale")!;
  expect(cellAt(flow, entityOf(flow.hierarchy, scale), 0)!.value).toBe(3);
  expect(cellAt(flow, flow.hierarchy.graph.nodeCount + group, 0)!.value).toBe(3);
  const backward = flowOf(withTokens());
  expect(listRows(backward.hierarchy, everyGroup(backward.hierarchy), backward.shown).map(({ id }) => id)).not.toContain("buffer:scale");
});

test.each(["int64", "int8", "uint8", "uint16", "bool"])("%s is an index, or a mask", (dtype) => {
  expect(isIndices(graphWith(dtype), 0)).toBe(true);
});

test.each(["float32", "bfloat16", "complex64", "qint8", "float8_e4m3fn", "unknown", ""])("%s is not", (dtype) => {
  expect(isIndices(graphWith(dtype), 0)).toBe(false);
});

function graphWith(dtype: string): typeof hierarchy.graph {
  const { columns, ...graph } = hierarchy.graph;
  return { ...graph, columns: { ...columns, slots: { ...columns.slots, dtype: columns.slots.dtype.map(() => dtype) } } };
}
