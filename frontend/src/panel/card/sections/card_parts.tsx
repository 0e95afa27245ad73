// What the cards of nodes, groups and lines are made of.

import type { ComponentChildren, JSX } from "preact";
import type { Hierarchy } from "../../../model/tree/hierarchy";
import type { Drawing } from "../../session/drawing";
import type { Session } from "../../session/session";
import type { InCard } from "../../view/view";

export interface CardProps {
  readonly session: Session;
  readonly drawing: Drawing;
  readonly hierarchy: Hierarchy;
  readonly select: (id: string) => void;
  readonly ofViews: readonly InCard[]; // what views add
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
