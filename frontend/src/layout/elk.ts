// ELK, within the worker that this runs in.

import type { ElkNode } from "elkjs/lib/elk-api";
import { Worker } from "elkjs/lib/elk-worker.min.js";

// It takes messages as a separate worker would, and answers at once.
const { dispatcher } = Object.assign(new Worker(), { onmessage: () => {} });
dispatcher.dispatch({ data: { id: 0, cmd: "register", algorithms: ["layered"] } });

// Puts places and sizes into the graph itself.
export function runElk(graph: ElkNode): ElkNode {
  dispatcher.dispatch({ data: { id: 0, cmd: "layout", graph } });
  return graph;
}
