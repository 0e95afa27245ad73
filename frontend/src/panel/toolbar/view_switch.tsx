// The choice of the view: a button for each.

import type { JSX } from "preact";
import type { Views } from "../view/views";

export function ViewSwitch({ views }: { readonly views: Views }): JSX.Element {
  const shown = views.shown.value.id;
  return (
    <div class="switch view" role="radiogroup" aria-label="View" data-testid="view" data-value={shown}>
      {views.all.map(({ id, text, title }) => (
        <button
          key={id}
          type="button"
          role="radio"
          aria-checked={id === shown}
          data-testid={`view-${id}`}
          title={title}
          onClick={() => views.show(id)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}
