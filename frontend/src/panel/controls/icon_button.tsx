// A button that is only an icon; its label is its tooltip and its name for screen readers.

import type { ComponentChildren, JSX } from "preact";

export function IconButton({ id, label, onClick, children, disabled = false }: {
  readonly id: string;
  readonly label: string;
  readonly onClick: () => void;
  readonly children: ComponentChildren;
  readonly disabled?: boolean;
}): JSX.Element {
  return (
    <button type="button" class="icon" data-testid={id} aria-label={label} title={label} disabled={disabled} onClick={onClick}>
      {children}
    </button>
  );
}
