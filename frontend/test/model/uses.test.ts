// What many use: beside each of them or drawn once, turned around by card, key and link.

import { expect, test } from "vitest";
import { recurrent } from "../../fixtures/examples.mjs";
import { DEFAULT_STATISTIC } from "../../src/model/recorded/statistics";
import { buildHierarchy } from "../../src/model/tree/hierarchy";
import { usesOf } from "../../src/model/tree/placement";
import { showGraph } from "../../src/model/visible/collapse";
import { countLongLines, fits, MOST_LONG_LINES } from "../../src/model/visible/opening";
import { computeValues } from "../../src/model/visible/values";
import { readHash, writeHash } from "../../src/panel/session/host";
import { hierarchyOf, recordAt } from "../fixture";
import { press, useStage, waitFor } from "../stage";

const WEIGHT = "parameter:cell.weight";
const stage = useStage();

test("a tensor with many uses is drawn once if the user chooses so, with a line to each use", () => {
  const usual = hierarchyOf(recurrent(12));
  const turned = buildHierarchy(usual.graph, new Set([WEIGHT]));
  const all = new Set(turned.groups.keys());
  const shown = (hierarchy: typeof usual): readonly number[] => {
    const { boxes, edges } = showGraph(hierarchy, new Set(hierarchy.groups.keys()));
    const own = boxes.flatMap(({ node }, box) => (node === 0 ? [box] : []));
    return [own.length, edges.filter(({ source }) => own.includes(source)).length];
  };
  expect([shown(usual), shown(turned)]).toEqual([
    [12, 12],
    [1, 12],
  ]);
  expect([countLongLines(usual, all), countLongLines(turned, all)]).toEqual([0, 12]);
  expect([usesOf(usual.graph, 0), usesOf(usual.graph, 1), usesOf(usual.graph, 2)]).toEqual([12, 1, 0]);
});

test("a tensor with a few uses can be drawn next to each of them; numbers do not change", () => {
  const run = recurrent(4);
  const usual = hierarchyOf(run);
  const turned = buildHierarchy(usual.graph, new Set([WEIGHT]));
  const boxes = showGraph(turned, new Set(turned.groups.keys())).boxes.filter(({ node }) => node === 0);
  expect([usual.copied[0], turned.copied[0], boxes.length]).toEqual([0, 1, 4]);
  const numbers = (one: typeof usual): readonly number[] => {
    const { value } = computeValues(one, recordAt(run, 0), DEFAULT_STATISTIC).groups;
    return ["#0", "cell#0", "cell#3"].map((id) => value[one.groupOf.get(id)!]!);
  };
  expect(numbers(turned)).toEqual(numbers(usual));
});

test("a graph whose layout would take a minute does not fit", () => {
  const usual = hierarchyOf(recurrent(MOST_LONG_LINES + 40));
  const turned = buildHierarchy(usual.graph, new Set([WEIGHT]));
  const all = new Set(turned.groups.keys());
  expect(countLongLines(turned, all)).toBeGreaterThan(MOST_LONG_LINES);
  expect([fits(turned, all), fits(turned, new Set())]).toEqual([false, true]);
});

// Of copies the tree has the first, inside of the first call; what is drawn once lies around all calls.
const once = (): boolean => stage.item(WEIGHT).parentElement!.closest("[data-key='cell#0']") === null;

test("card and key change how it is drawn, the link keeps the choice, and the selection stays", async () => {
  writeHash(`p.gradgraph.sel=${WEIGHT}`);
  stage.show(recurrent(10));
  await stage.drawn(WEIGHT);
  stage.one("expand-all")!.click();
  await waitFor(() => expect(once()).toBe(false));
  expect(stage.one("turn-uses")!.textContent).toBe("Draw once, with 10 lines");
  stage.one("turn-uses")!.click();
  await waitFor(() => expect(once()).toBe(true));
  expect(stage.item(WEIGHT).getAttribute("aria-selected")).toBe("true");
  expect(stage.one("turn-uses")!.textContent).toBe("Draw beside each of its 10 uses");
  await waitFor(() => expect(decodeURIComponent(readHash())).toContain(`p.gradgraph.turned=${WEIGHT}`));
  press("u");
  await waitFor(() => expect(once()).toBe(false));
  await waitFor(() => expect(readHash()).not.toContain("turned"));
});

test("the heat map fetches no number again after such a change", async () => {
  writeHash(`p.gradgraph.view=flow&p.gradgraph.sel=${WEIGHT}`);
  stage.show(recurrent(10, 3));
  const row = (): HTMLElement | null => stage.place.querySelector(`[role=row][data-key="${WEIGHT}"]`);
  const level = (): string | null | undefined => row()?.getAttribute("aria-level");
  await waitFor(() => expect(level()).toBe("4"));
  await waitFor(() => expect(row()!.dataset.value).toBe("1000")); // else leaving breaks off the one request
  press("g");
  await stage.drawn(WEIGHT);
  press("u");
  await waitFor(() => expect(once()).toBe(true));
  press("g");
  await waitFor(() => expect(level()).toBe("2"));
  expect(row()!.dataset.value).toBe("1000");
  // On a slow machine 5 seconds have passed meanwhile, and it has looked for steps after the last.
  const froms = stage.asked.filter((url) => url.includes("/flow?")).map((url) => url.split("&from=")[1]);
  expect(froms.filter((from) => from !== "3")).toEqual(["0"]);
});

test("a link restores the choice; a tensor with one use has no choice", async () => {
  writeHash(`p.gradgraph.turned=${WEIGHT}&p.gradgraph.sel=${WEIGHT}`);
  stage.show(recurrent(10));
  await stage.drawn(WEIGHT);
  expect(once()).toBe(true);
  stage.one("expand-all")!.click();
  await waitFor(() => expect(stage.keys().length).toBeGreaterThan(20));
  expect(once()).toBe(true);
  stage.item("input:h").click();
  await waitFor(() => expect(stage.item("input:h").getAttribute("aria-selected")).toBe("true"));
  await waitFor(() => expect(stage.one("card")!.textContent).toContain("input:h"));
  expect(stage.one("turn-uses")).toBeNull();
});
