// Prepares a large graph in parts, so that the page can respond in between.

import { pause, PAUSES_FROM } from "../../base/pause";
import type { Graph } from "../recorded/graph";
import { buildInParts, type Hierarchy } from "./hierarchy";

export async function buildWithPauses(graph: Graph, turned: ReadonlySet<string>): Promise<Hierarchy> {
  const building = buildInParts(graph, turned);
  for (;;) {
    if (graph.nodeCount > PAUSES_FROM) await pause();
    const { done, value } = building.next();
    if (done === true) return value;
  }
}
