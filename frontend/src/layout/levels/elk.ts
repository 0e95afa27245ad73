// Runs ELK inside our own worker.

import type { ElkNode } from "elkjs/lib/elk-api";
import { Worker } from "elkjs/lib/elk-worker.min.js";

// It takes messages like a separate worker, but answers at once.
const { dispatcher } = Object.assign(new Worker(), { onmessage: () => {} });
dispatcher.dispatch({ data: { id: 0, cmd: "register", algorithms: ["layered"] } });

// Writes positions and sizes to the graph itself.
export function runElk(graph: ElkNode): ElkNode {
  dispatcher.dispatch({ data: { id: 0, cmd: "layout", graph } });
  return graph;
}
