// The card at the right: everything known of what is selected.

import type { ComponentChildren, JSX } from "preact";
import type { Hierarchy } from "../model/hierarchy";
import type { Session } from "./session";
import type { Drawing } from "./drawing";
import { GroupCard } from "./group_card";
import { CloseIcon } from "./icons";
import { NodeCard } from "./node_card";
import { IconButton } from "./icon_button";

export interface CardProps {
  readonly session: Session;
  readonly drawing: Drawing;
  readonly hierarchy: Hierarchy;
  readonly select: (id: string) => void;
}

export function Card({ session, drawing, select }: Omit<CardProps, "hierarchy">): JSX.Element | null {
  const hierarchy = session.store.hierarchy.value;
  const id = session.store.selected.value;
  if (hierarchy === undefined || id === undefined) return null;
  const group = hierarchy.groupOf.get(id);
  const node = group === undefined ? hierarchy.graph.columns.nodes.key.indexOf(id) : -1;
  const props = { session, drawing, hierarchy, select };
  return (
    <aside class="card" data-testid="card" aria-label="Selection" data-key={id}>
      <IconButton id="card-close" label="Close (Escape)" onClick={() => (session.store.selected.value = undefined)}>
        <CloseIcon />
      </IconButton>
      {group !== undefined && <GroupCard key={id} {...props} group={group} />}
      {node !== -1 && <NodeCard key={id} {...props} node={node} />}
      {group === undefined && node === -1 && <p class="faint">This graph has no "{id}".</p>}
    </aside>
  );
}

export function Section({ title, children, id }: {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly id?: string;
}): JSX.Element {
  return (
    <section data-testid={id}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

export function Facts({ facts }: { readonly facts: readonly (readonly [string, ComponentChildren])[] }): JSX.Element {
  return (
    <dl>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd data-fact={name}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
