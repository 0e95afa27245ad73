import { afterEach, beforeEach, expect, test } from "vitest";
import { retained } from "../../fixtures/examples.mjs";
import { mount } from "../../src/panel/mount";
import { writeHash } from "../../src/panel/session/host";
import { serveFixtures, type FixtureRun } from "../fixture";
import "../kept_workers";
import { waitFor } from "../stage";

let place: HTMLElement;
let unmount: () => void = () => undefined;
let unserve: () => void = () => undefined;

beforeEach(() => {
  place = document.createElement("div");
  place.style.height = "700px";
  document.body.append(place);
  writeHash("");
});

afterEach(() => {
  unmount();
  unserve();
  place.remove();
});

// The same graph, of one of whose tensors a process has one shard of four.
function sharded(run: FixtureRun, key: string): FixtureRun {
  const of = <T>(yes: T, no: T): T[] => run.graph.nodes.key.map((own) => (own === key ? yes : no));
  const { slots } = run.graph;
  const shape = slots.shape.map((sizes, row) => (run.graph.nodes.key[row] === key ? [80, 50] : sizes));
  const part = of("shard 2 of 4", "");
  const graph = { ...run.graph, slots: { ...slots, shape, part, placement: of("fsdp:S0", "") } };
  return Object.assign({ ...run, graph }, { graphs: [graph] }); // what is served
}

const one = (id: string): HTMLElement | null => place.querySelector(`[data-testid="${id}"]`);

test("a card says which part its numbers cover, with the count of its elements", async () => {
  const run = sharded(retained(), "parameter:w");
  unserve = serveFixtures(
    () => [run],
    () => undefined,
  );
  unmount = mount(place, { base: "./fixture/" });
  const item = (key: string): HTMLElement | undefined =>
    [...place.querySelectorAll<HTMLElement>("[role=treeitem]")].find((li) => li.dataset.key === key);
  await waitFor(() => expect(item("parameter:w")?.dataset.state).toBe("nonfinite"));
  item("parameter:w")!.click();
  await waitFor(() => expect(one("marks")).not.toBeNull());
  await waitFor(() => expect(one("part")?.textContent).toBe("shard 2 of 4"));
  expect(one("part")?.title).toContain("are not included in totals");
  await waitFor(() => expect(place.textContent).toContain("shard 2 of 4 (fsdp:S0), 2,000 of 4,000 elements"));
  item("root:loss")!.click();
  await waitFor(() => expect(one("part")).toBeNull());
  expect(one("marks")).not.toBeNull();
});
