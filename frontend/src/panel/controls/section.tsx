// A part of a card, with its heading.

import type { ComponentChildren, JSX } from "preact";

export function Section({
  title,
  children,
  id,
}: {
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
