// Graph, Flow or Charts: one step of all nodes, all steps, or chosen nodes over all steps.

import type { JSX } from "preact";
import { showView } from "../../state/flow_actions";
import type { Store } from "../../state/store";

const VIEWS = [
  { id: "graph", text: "Graph", title: "The graph at one step (G)" },
  { id: "flow", text: "Flow", title: "Every module and node over all recorded steps, as a heat map (G)" },
  { id: "charts", text: "Charts", title: "Chosen tensors and runs over each other" },
] as const;

export function ViewSwitch({ store }: { readonly store: Store }): JSX.Element {
  const view = store.view.value;
  return (
    <div class="switch view" role="radiogroup" aria-label="View" data-testid="view" data-value={view}>
      {VIEWS.map(({ id, text, title }) => (
        <button key={id} type="button" role="radio" aria-checked={id === view} data-testid={`view-${id}`} title={title}
          onClick={() => showView(store, id)}>
          {text}
        </button>
      ))}
    </div>
  );
}
