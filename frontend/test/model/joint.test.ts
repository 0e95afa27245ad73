// Two graphs in one drawing: what only the other has stands where it would be, and changes nothing of what is shown.

import { expect, test } from "vitest";
import { one, two } from "../../fixtures/compared.mjs";
import { hostile, transformer } from "../../fixtures/examples.mjs";
import { compare, relateGroup, relateLine, relateNode, Relation } from "../../src/model/compare/comparison";
import { joinGraphs } from "../../src/model/compare/joined";
import { jointHash, joinWith } from "../../src/model/compare/joint";
import { DEFAULT_STATISTIC } from "../../src/model/recorded/statistics";
import { buildHierarchy } from "../../src/model/tree/hierarchy";
import { showGraph } from "../../src/model/visible/collapse";
import { rowsOf } from "../../src/model/visible/line_rows";
import { computeValues } from "../../src/model/visible/values";
import { writeHash } from "../../src/panel/session/host";
import { hierarchyOf, recordAt, type FixtureRun } from "../fixture";
import { useStage, waitFor } from "../stage";

const stage = useStage();
const GHOSTS = ["parameter:mid.weight", "mid#0/MmBackward0.0"];
const graphOf = (run: FixtureRun) => hierarchyOf(run).graph;

test("nodes of only the other graph come after its own nodes, with their edges, in their module and place", () => {
  const [here, there] = [graphOf(one()), graphOf(two())];
  const joint = joinWith(here, there);
  expect(joint.columns.nodes.key.slice(joint.ownNodes)).toEqual(GHOSTS);
  expect([joint.hash, joint.rows, joint.ownNodes, joint.joint]).toEqual([here.hash, here.rows, here.nodeCount, there.hash]);
  const edges = Array.from({ length: joint.edgeCount }, (_, edge) =>
    [joint.edgeSource[edge]!, joint.edgeTarget[edge]!].map((node) => joint.columns.nodes.key[node]),
  );
  expect(edges.slice(joint.ownEdges).sort()).toEqual(
    [
      ["mid#0/MmBackward0.0", "down#0/MmBackward0.0"],
      ["parameter:mid.weight", "mid#0/MmBackward0.0"],
      ["up#0/MmBackward0.0", "mid#0/MmBackward0.0"],
    ].sort(),
  );
  const hierarchy = buildHierarchy(joint);
  const mid = hierarchy.groups[hierarchy.groupOf.get("mid#0")!]!;
  expect([mid.title, mid.subtitle, hierarchy.groups[mid.parent]!.id]).toEqual(["mid", "Linear", "#0"]);
  const order = hierarchy.groups[hierarchy.groupOf.get("#0")!]!.children.map((child) => hierarchy.groups[child]?.id);
  expect(order.indexOf("mid#0")).toBe(order.indexOf("up#0") + 1);
});

test("if nothing is missing, nothing is joined", () => {
  const [here, there] = [graphOf(one()), graphOf(two())];
  expect(joinWith(here, graphOf(one()))).toBe(here);
  expect([jointHash(here, undefined), jointHash(here, here), jointHash(here, there)]).toEqual(["", "", there.hash]);
  const joint = joinWith(here, there);
  expect(jointHash(joint, there)).toBe(there.hash);
  for (const run of [hostile(), transformer(3, 1)]) expect(joinWith(graphOf(run), here).joint).toBe(here.hash);
});

test("shown numbers do not change with ghosts; numbers of ghosts are those of the other graph", () => {
  const [plain, there] = [hierarchyOf(one()), hierarchyOf(two())];
  const joint = buildHierarchy(joinWith(plain.graph, there.graph));
  const [record, other] = [recordAt(one(), 0), recordAt(two(), 0)];
  const [before, values] = [plain, joint].map((hierarchy) => computeValues(hierarchy, record, DEFAULT_STATISTIC));
  expect([...values!.nodes.value.slice(0, plain.graph.nodeCount)]).toEqual([...before!.nodes.value]);
  for (const id of ["#0", "up#0", "gate#0", "down#0"])
    expect(values!.groups.value[joint.groupOf.get(id)!]).toBe(before!.groups.value[plain.groupOf.get(id)!]);
  const all = new Set(joint.groups.keys());
  const visible = showGraph(joint, all);
  const comparison = compare(
    joint,
    values!,
    [{ hierarchy: there, record: other, values: computeValues(there, other, DEFAULT_STATISTIC), joined: joinGraphs(joint, there) }],
    DEFAULT_STATISTIC,
  );
  expect(comparison.first.joined.onlyThere.map((node) => there.graph.columns.nodes.key[node])).toEqual(GHOSTS);
  // At step 0 the other has 3 * 8 of the weight, and 8 of what it makes.
  const nodeOf = (key: string): number => joint.graph.columns.nodes.key.indexOf(key);
  expect(GHOSTS.map((key) => relateNode(comparison, nodeOf(key)))).toEqual(
    [24, 8].map((there) => ({ relation: Relation.onlyThere, here: NaN, there, log2: NaN })),
  );
  expect(relateGroup(comparison, joint.groupOf.get("mid#0")!)).toMatchObject({ relation: Relation.onlyThere, there: 24 });
  expect(relateGroup(comparison, joint.groupOf.get("up#0")!)).toMatchObject({ relation: Relation.both, log2: -3 });
  const lines = visible.edges.filter(({ edges }) => edges.every((edge) => edge >= joint.graph.ownEdges));
  expect(lines).toHaveLength(3);
  for (const line of lines) {
    expect(rowsOf(joint.graph, line, () => true)).toEqual([]);
    expect(relateLine(comparison, joint.graph, line).relation).toBe(Relation.onlyThere);
  }
});

const compared = "p.gradgraph.run=one&p.gradgraph.step=0&p.gradgraph.vs.run=two&p.gradgraph.vs.step=same";

test("ghosts are drawn while two runs are compared, and disappear after it", async () => {
  writeHash(compared);
  stage.show(one(), two());
  await waitFor(() =>
    expect(stage.item("parameter:mid.weight").dataset).toMatchObject({
      ghost: "true",
      only: "false",
      there: "24",
      detail: "only there · 24",
    }),
  );
  expect(stage.item("parameter:gate.weight").dataset).toMatchObject({ ghost: "false", only: "true" });
  expect(stage.item("parameter:up.weight").dataset).toMatchObject({ ratio: "0.125" });
  expect(stage.one("legend")!.textContent).toContain("only there");
  expect(stage.one("differences")!.textContent).toBe("2 only here, 2 only there");
  stage.item("mid#0").click();
  await waitFor(() => expect(stage.one("card")!.dataset.key).toBe("mid#0"));
  const text = stage.one("card")!.textContent;
  expect(text).toContain("parameters1");
  expect(text).toContain("compared with24, only there");
  stage.one("compare")!.click();
  await waitFor(() => expect(stage.keys()).not.toContain("parameter:mid.weight"));
  expect(stage.keys()).toContain("parameter:gate.weight");
});

test("a link selects a ghost; its card says where it is, and leads there", async () => {
  writeHash(`${compared}&p.gradgraph.sel=parameter%3Amid.weight`);
  stage.show(one(), two());
  await waitFor(() => expect(stage.one("ghost")!.textContent).toBe("Only in two / net, step 0: the shown graph has no such node."));
  expect(stage.one("ghost")!.dataset.there).toBe("24");
  expect(stage.one("card")!.textContent).toContain("[2]");
  expect(stage.one("notice")).toBeNull();
  stage.one("show-there")!.click();
  await waitFor(() => expect(stage.item("parameter:mid.weight").dataset).toMatchObject({ ghost: "false", only: "true" }));
  expect(stage.item("parameter:gate.weight").dataset.ghost).toBe("true");
  await waitFor(() => expect(stage.one("statistics")).not.toBeNull());
});

test("the heat map has rows of what only the other has", async () => {
  writeHash(`${compared}&p.gradgraph.view=flow`);
  stage.show(one(), two());
  const value = (key: string): string | undefined => stage.place.querySelector<HTMLElement>(`[role=row][data-key="${key}"]`)?.dataset.value;
  await waitFor(() => expect(value("parameter:mid.weight")).toBe("only there"));
  expect(value("parameter:gate.weight")).toBe("only here");
  expect(value("parameter:up.weight")).toBe("×0.125");
});
