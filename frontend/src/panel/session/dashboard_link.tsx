// A link from a node's card to the same node in TensorBoard's Graphs dashboard.

import type { JSX } from "preact";
import type { Graph } from "../../model/recorded/graph";
import { reveal } from "../../state/actions";
import type { Store } from "../../state/store";
import { hasDashboard, showInDashboard } from "./dashboard";

export function DashboardLink({
  store,
  graph,
  node,
}: {
  readonly store: Store;
  readonly graph: Graph;
  readonly node: number;
}): JSX.Element | null {
  const [run, tag, name] = [store.place.run.value?.run, store.place.tag.value?.tag, graph.columns.nodes.dashboard_name?.[node]];
  if (run === undefined || tag === undefined || name === undefined || !hasDashboard()) return null;
  return (
    <button
      type="button"
      class="link to-dashboard"
      data-testid="to-dashboard"
      title={`Shows ${name} in the tab Graphs. If you select a node there, it is selected here when you come back.`}
      onClick={() => showInDashboard(run, tag, name)}
    >
      Show in Graphs
    </button>
  );
}

// The node that was selected in the dashboard, if this graph has it.
export function revealFromDashboard(store: Store, name: string): void {
  const nodes = store.recorded.hierarchy.peek()?.graph.columns.nodes;
  const key = nodes?.key[nodes.dashboard_name?.indexOf(name) ?? -1];
  if (key !== undefined) reveal(store, key);
}
