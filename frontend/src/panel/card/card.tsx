// The card at the right: everything that is known about the selection.

import type { ComponentChildren, JSX } from "preact";
import { chooseEdge } from "../../state/actions";
import type { Store } from "../../state/store";
import { deferred } from "../controls/deferred";
import { CloseIcon, IconButton } from "../controls/icons";
import type { CardProps } from "./sections/card_parts";

const FAILED = "The card";
const EdgeCard = deferred(FAILED, () => import("./card_contents").then((loaded) => loaded.EdgeCard));
const GhostCard = deferred(FAILED, () => import("./card_contents").then((loaded) => loaded.GhostCard));
const GroupCard = deferred(FAILED, () => import("./card_contents").then((loaded) => loaded.GroupCard));
const NodeCard = deferred(FAILED, () => import("./card_contents").then((loaded) => loaded.NodeCard));

export const CARDS = [NodeCard, GroupCard, EdgeCard, GhostCard] as const;

export function Card({ session, drawing, select, ofViews }: Omit<CardProps, "hierarchy">): JSX.Element | null | undefined {
  const { store } = session;
  const hierarchy = store.recorded.hierarchy.value;
  const id = store.shown.selected.value;
  if (hierarchy === undefined) return null;
  const props = { session, drawing, hierarchy, select, ofViews };
  const edges = store.shown.edge.value;
  if (id === undefined)
    return (
      edges && (
        <Frame store={store} id="edge">
          <EdgeCard {...props} edges={edges} />
        </Frame>
      )
    );
  const group = hierarchy.groupOf.get(id);
  const node = group === undefined ? hierarchy.graph.columns.nodes.key.indexOf(id) : -1;
  // A link may name something that does not exist here. Then there is nothing to show.
  if (group === undefined && node === -1) return null;
  return (
    <Frame store={store} id={id}>
      {group !== undefined && <GroupCard key={id} {...props} group={group} />}
      {node !== -1 &&
        (node < hierarchy.graph.ownNodes ? <NodeCard key={id} {...props} node={node} /> : <GhostCard key={id} {...props} node={node} />)}
    </Frame>
  );
}

function Frame({ store, id, children }: { readonly store: Store; readonly id: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <aside class="card" data-testid="card" aria-label="Selection" data-key={id}>
      <IconButton id="card-close" label="Close (Escape)" onClick={() => chooseEdge(store, undefined)}>
        <CloseIcon />
      </IconButton>
      {children}
    </aside>
  );
}
