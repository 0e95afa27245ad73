// The modules around the selection, or else around the contents of the view, outermost first.

import type { JSX } from "preact";
import { pathTo } from "../../model/flow/flow_rows";
import { titleOf } from "../../model/recorded/titles";
import type { Hierarchy } from "../../model/tree/hierarchy";
import { reveal } from "../../state/actions";
import type { Store } from "../../state/store";

export function Breadcrumbs({ store, inside }: { readonly store: Store; readonly inside: string | undefined }): JSX.Element | null {
  const hierarchy = store.recorded.hierarchy.value;
  const id = store.shown.selected.value ?? inside;
  if (hierarchy === undefined || id === undefined) return null;
  const path = around(hierarchy, id);
  if (path.length < 2 && store.shown.selected.value !== undefined) return null;
  return (
    <nav class="breadcrumbs" aria-label="Modules around" data-testid="breadcrumbs">
      {path.map((one, i) => {
        const own = i === path.length - 1 && one === store.shown.selected.value;
        return (
          <span key={one}>
            {i > 0 && <i aria-hidden="true">›</i>}
            <button type="button" data-key={one} title={one} aria-current={own ? "true" : undefined} onClick={() => reveal(store, one)}>
              {titleAt(hierarchy, one)}
            </button>
          </span>
        );
      })}
    </nav>
  );
}

// Groups around, then the node or group itself.
function around(hierarchy: Hierarchy, id: string): readonly string[] {
  const path = pathTo(hierarchy, id);
  if (path.at(-1) === id || hierarchy.groupOf.has(id) || !hierarchy.graph.columns.nodes.key.includes(id)) return path;
  return [...path, id];
}

function titleAt({ graph, groups, groupOf }: Hierarchy, id: string): string {
  const group = groupOf.get(id);
  return group === undefined ? titleOf(graph, graph.columns.nodes.key.indexOf(id)) : groups[group]!.title;
}
