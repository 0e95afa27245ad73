// Names, roles and contrast, as axe-core checks them, over everything that can be on the screen.

import axe from "axe-core";
import { afterEach, describe, expect, test } from "vitest";
import { loop, one, two } from "../../fixtures/compared.mjs";
import { flow, training, withFindings } from "../../fixtures/examples.mjs";
import { bothHalves } from "../../fixtures/halves.mjs";
import { faulty } from "../../fixtures/trainings.mjs";
import { writeHash } from "../../src/panel/session/host";
import { press, settle, useStage, waitFor } from "../stage";

const stage = useStage();
const { classList } = window.parent.document.body;
afterEach(() => classList.remove("dark-mode"));

// What is of the whole page: tests/browser/test_accessibility.py looks at it.
const OF_THE_PAGE = ["region", "document-title", "html-has-lang", "landmark-one-main", "page-has-heading-one"];

async function faults(): Promise<readonly string[]> {
  await settle(350); // what fades in is then there
  const rules = Object.fromEntries(OF_THE_PAGE.map((id) => [id, { enabled: false }]));
  const { violations } = await axe.run(stage.place, { rules });
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary?.replace(/\s+/g, " ") ?? ""}`),
  );
}

async function open(id: string, shown: string): Promise<void> {
  stage.one(id)!.click();
  await waitFor(() => expect(stage.one(shown)).not.toBeNull());
}

describe.each(["light", "dark"])("%s", (theme) => {
  const start = (): void => {
    if (theme === "dark") classList.add("dark-mode");
  };

  test("the graph with a card", async () => {
    start();
    writeHash("p.gradgraph.sel=parameter%3Aw");
    stage.show(training());
    await waitFor(() => expect(stage.one("chart")).not.toBeNull());
    expect(await faults()).toEqual([]);
  });

  test("values forward: the graph with a card, the heat map, and charts with numbers of the step", async () => {
    start();
    writeHash("p.gradgraph.dir=forward&p.gradgraph.sel=parameter%3Ablocks.0.weight&p.gradgraph.chart.step=loss");
    stage.show(bothHalves());
    await waitFor(() => expect(stage.one("value-histogram-strip")).not.toBeNull());
    expect(await faults()).toEqual([]);
    await open("view-flow", "scalar-value");
    expect(await faults()).toEqual([]);
    await open("view-charts", "charts-lines");
    expect(await faults()).toEqual([]);
  });

  test("findings of the training, in the list too, and on purpose", async () => {
    start();
    stage.show(faulty());
    await waitFor(() => expect(stage.one("verdict")).not.toBeNull());
    await open("findings", "run-finding-list");
    stage.one("on-purpose")!.click();
    await waitFor(() => expect(stage.one("purposed-list")).not.toBeNull());
    expect(await faults()).toEqual([]);
    localStorage.removeItem("gradgraph.findings");
  });

  test("the graph alone, with findings", async () => {
    start();
    stage.show(withFindings());
    await waitFor(() => expect(stage.one("findings")).not.toBeNull());
    expect(await faults()).toEqual([]);
    await open("findings", "finding-list");
    expect(await faults()).toEqual([]);
  });

  test("the heat map", async () => {
    start();
    writeHash("p.gradgraph.view=flow&p.gradgraph.sel=parameter%3Aup.weight");
    stage.show(flow());
    await waitFor(() => expect(stage.one("flow-rows")?.querySelector("[role=row]")).toBeInstanceOf(Element));
    expect(await faults()).toEqual([]);
  });

  test("the heat map with findings, pinned and sorted rows, a scroll bar and a selection", async () => {
    start();
    stage.place.style.height = "480px";
    writeHash(
      "p.gradgraph.view=flow&p.gradgraph.flow.sort=below.up&p.gradgraph.flow.pins=parameter%3Aup.weight&p.gradgraph.flow.area=20%3A40%0Aparameter%3Aup.weight%0Aparameter%3Adown.weight",
    );
    stage.show(faulty());
    await waitFor(() => expect(stage.one("flow-area")?.querySelector("tbody tr")).toBeInstanceOf(Element));
    await waitFor(() => expect(stage.one("flow-lanes")).not.toBeNull());
    stage.one("verdict-close")?.click();
    await waitFor(() => expect(stage.place.querySelector("[data-pinned]")).not.toBeNull());
    expect(await faults()).toEqual([]);
    stage.choose("flow-order", "depth");
    await waitFor(() => expect(stage.one("flow-scroll")).not.toBeNull());
    expect(await faults()).toEqual([]);
    localStorage.removeItem("gradgraph.findings");
  });

  test.each([
    ["help", "help-text"],
    ["take-away", "take-away-list"],
    ["colors", "colors-list"],
  ])("%s", async (id, shown) => {
    start();
    stage.show(flow());
    await stage.drawn("up#0");
    await open(id, shown);
    expect(await faults()).toEqual([]);
  });

  test("a comparison, with both numbers on a card", async () => {
    start();
    writeHash("p.gradgraph.run=one&p.gradgraph.vs.run=two&p.gradgraph.vs.step=2&p.gradgraph.sel=parameter%3Aup.weight");
    stage.show(one(), two());
    await waitFor(() => expect(stage.one("compare-bar")?.dataset.ready).toBe("true"));
    await waitFor(() => expect(stage.one("statistics")?.querySelector("[data-ratio]")).toBeInstanceOf(Element));
    expect(await faults()).toEqual([]);
    await open("differences", "only-there");
    expect(await faults()).toEqual([]);
  });

  test("the profile of a loop", async () => {
    start();
    writeHash("p.gradgraph.sel=cell%232");
    stage.show(loop());
    await waitFor(() => expect(stage.one("profile-ends")).not.toBeNull());
    expect(await faults()).toEqual([]);
  });

  test("charts", async () => {
    start();
    writeHash(
      "p.gradgraph.view=charts&p.gradgraph.run=one&p.gradgraph.chart.runs=two&p.gradgraph.chart.pins=parameter%3Aup.weight%3A0%0Aparameter%3Agate.weight%3A0",
    );
    stage.show(one(), two());
    await waitFor(() => expect(stage.one("charts-lines")?.querySelectorAll("[data-line]")).toHaveLength(4));
    expect(await faults()).toEqual([]);
    await open("as-layers", "layers");
    await waitFor(() => expect(stage.one("layers")!.dataset.ready).toBe("2"));
    expect(await faults()).toEqual([]);
  });

  test("a story of two marks, one of them deleted", async () => {
    start();
    stage.show(flow());
    await stage.drawn("up#0");
    for (const count of [1, 2]) {
      press("m");
      await waitFor(() => expect(stage.place.querySelectorAll("[data-testid=mark] img")).toHaveLength(count));
    }
    expect(await faults()).toEqual([]);
    stage.one("mark-remove")!.click();
    await waitFor(() => expect(stage.one("undo-remove")).not.toBeNull());
    expect(await faults()).toEqual([]);
    localStorage.removeItem("gradgraph.story");
  });

  test("nothing recorded", async () => {
    start();
    stage.show();
    await waitFor(() => expect(stage.one("empty")).not.toBeNull());
    expect(await faults()).toEqual([]);
  });
});
