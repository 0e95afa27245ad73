// Headers that stay, the order of rows, and the numbers of a row, against slow and plain computations.

import { expect, test } from "vitest";
import { flow as flowRun, transformer } from "../../fixtures/examples.mjs";
import { groupsAround, headersAt, mostHeaders, nestingOf } from "../../src/model/flow/flow_headers";
import { FORWARD_ORDER, orderRows, type RowOrder } from "../../src/model/flow/flow_order";
import { entityOf, everyGroup, listRows, rowFor, type FlowRow } from "../../src/model/flow/flow_rows";
import { rowAxis } from "../../src/model/flow/flow_window";
import { firstBelow, summarizeRow } from "../../src/model/flow/row_numbers";
import { statisticOf } from "../../src/model/recorded/statistics";
import { flowOf } from "../fixture";

const TOP = { top: 0, rowPx: undefined };

test("headers are the open groups around the first rows below them", () => {
  const flow = flowOf(transformer(3, 2));
  const rows = listRows(flow.hierarchy, everyGroup(flow.hierarchy), flow.shown);
  const nesting = nestingOf(rows);
  // A group is around a row if it is the last one before it that is less deep.
  const around = (at: number): readonly number[] => {
    const path: number[] = [];
    for (let row = at - 1, depth = rows[at]!.depth; row >= 0; row--)
      if (rows[row]!.depth < depth) [depth] = [rows[path.unshift(row) && row]!.depth];
    return path;
  };
  rows.forEach((_, at) => expect(groupsAround(nesting, at)).toEqual(around(at)));
  for (let top = 0; top < rows.length; top += 0.25) {
    const axis = rowAxis({ ...TOP, top }, rows.length, 18 * 20);
    const headers = headersAt(rows, nesting, axis);
    expect(headers.length).toBeLessThanOrEqual(mostHeaders(axis));
    const covered = headers.length === 0 ? 0 : Math.max(...headers.map(({ topPx }) => topPx / 18 + 1));
    const first = Math.ceil(axis.from + covered - 1e-9);
    if (first >= rows.length) continue;
    // What is around the first whole row below them is a header, or in sight.
    for (const group of around(first)) expect(headers.some(({ row }) => row === group) || group >= axis.from + covered - 1).toBe(true);
    headers.forEach(({ row, topPx }, i) => {
      expect(rows[row]!.open).toBe(true);
      expect(rows[row]!.depth).toBe(i);
      expect(topPx).toBeLessThanOrEqual(18 * i);
      expect(topPx / 18 + 1).toBeLessThanOrEqual(nesting.end[row]! - axis.from + 1e-9); // it leaves with its group
    });
  }
});

function sorted(order: Partial<RowOrder>, column = 2): readonly string[] {
  const flow = flowOf(flowRun());
  const rows = listRows(flow.hierarchy, everyGroup(flow.hierarchy), flow.shown);
  return orderRows(rows, flow, { ...FORWARD_ORDER, ...order }, column).map(({ id }) => id);
}

test("the numbers of rows sort them; what has none is last", () => {
  expect(sorted({ descending: true })).toEqual([
    "root:loss",
    "down#0/AddmmBackward0.0",
    "parameter:down.weight",
    "up#0/AddmmBackward0.0",
    "parameter:up.bias",
    "parameter:up.weight",
  ]);
  // At the column of a NaN, its row is the greatest.
  expect(sorted({ by: "value", descending: true }, 3)[0]).toBe("parameter:up.weight");
  expect(sorted({ by: "value", descending: true }, -1)[0]).toBe("parameter:up.weight"); // no such step: the order of the forward
  const slopes = sorted({ by: "slope" });
  expect(slopes.slice(0, 3).sort()).toEqual(["parameter:down.weight", "parameter:up.weight", "up#0/AddmmBackward0.0"]);
  expect(slopes.at(-1)).toBe("parameter:up.bias");
});

// Gaussian elimination of the normal equations, not the sums of deviations.
function fitted(points: readonly (readonly [number, number])[]): number {
  const [n, sx, sy] = [points.length, points.reduce((sum, [x]) => sum + x, 0), points.reduce((sum, [, y]) => sum + y, 0)];
  const [sxx, sxy] = [points.reduce((sum, [x]) => sum + x * x, 0), points.reduce((sum, [x, y]) => sum + x * y, 0)];
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

test("median, slope, the first NaN and the first step below a limit are those of the logged numbers", () => {
  const flow = flowOf(flowRun());
  const rowOf = (id: string): number => entityOf(flow.hierarchy, rowFor(flow.hierarchy, id)!);
  // As the fixture writes them: 10 ** -i, but NaN at step 30, zero at 40, nothing at 50.
  const up = [0, 1, 2, 6, 7, 8, 9].map((i) => [10 * i, Math.fround(10 ** -i)] as const);
  const found = summarizeRow(flow, rowOf("parameter:up.weight"), [0, 10]);
  const numbers = [...up.map(([, value]) => value), 0].sort((a, b) => a - b);
  expect(found.median).toBeCloseTo((numbers[3]! + numbers[4]!) / 2, 12);
  expect(found.slope).toBeCloseTo(fitted(up.map(([step, value]) => [step, Math.log10(value)])), 6);
  expect(found.slope).toBeCloseTo(-0.1, 6); // a decade in ten steps
  expect(found.firstBad).toBe(30);
  expect(summarizeRow(flow, rowOf("parameter:up.weight"), [4, 6])).toEqual({ median: 0, slope: NaN, firstBad: undefined });
  expect(summarizeRow(flow, rowOf("parameter:up.bias"), [0, 10])).toEqual({ median: NaN, slope: NaN, firstBad: undefined });
  expect(firstBelow(flow, rowOf("parameter:up.weight"), 0.05, [0, 10])).toBe(20);
  expect(firstBelow(flow, rowOf("parameter:up.weight"), 1e-3, [0, 10])).toBe(40); // zero is
  expect(firstBelow(flow, rowOf("parameter:up.weight"), 1e-20, [5, 10])).toBeUndefined();
  // A share has a linear scale, so its slope is that of the numbers themselves.
  const zeros = flowOf(flowRun(), statisticOf("zero_fraction")!);
  expect(summarizeRow(zeros, rowOf("parameter:down.weight"), [0, 7]).slope).toBe(0);
});

test("a pinned row is the node or group alone, however the tree is open", () => {
  const { hierarchy } = flowOf(flowRun());
  const kinds = (id: string): Pick<FlowRow, "kind" | "depth" | "open"> | undefined => rowFor(hierarchy, id);
  expect(kinds("up#0")).toMatchObject({ kind: "group", depth: 0, open: false });
  expect(kinds("parameter:up.weight")).toMatchObject({ kind: "node", depth: 0, open: false });
  expect(kinds("<b>nothing</b>")).toBeUndefined();
});
