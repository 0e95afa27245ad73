// A choice of one among few, as buttons: one stop of Tab for all, and arrow keys from one to the next.

import { useRef } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";

export interface RadioChoice {
  readonly id: string;
  readonly title?: string;
  readonly content: ComponentChildren;
}

export function RadioGroup({
  id,
  label,
  look,
  choices,
  chosen,
  choose,
}: {
  readonly id: string;
  readonly label: string;
  readonly look: string;
  readonly choices: readonly RadioChoice[];
  readonly chosen: string;
  readonly choose: (id: string) => void;
}): JSX.Element {
  const byPointer = useRef(false);
  return (
    <div
      class={look}
      role="radiogroup"
      aria-label={label}
      data-testid={id}
      data-value={chosen}
      onPointerDown={() => {
        byPointer.current = true;
      }}
      onFocusOut={() => {
        byPointer.current = false;
      }}
      onKeyDown={(event) => {
        // Who came by the pointer goes on with the panel's own arrows, which move through the steps.
        const next = byPointer.current ? undefined : nextOf(event, choices, chosen);
        if (next === undefined) return;
        event.preventDefault();
        event.stopPropagation(); // in a popover, arrows also go from button to button
        choose(next);
        const all = event.currentTarget.querySelectorAll<HTMLElement>("[role=radio]");
        all[choices.findIndex((choice) => choice.id === next)]?.focus();
      }}
    >
      {choices.map(({ id: one, title, content }) => (
        <button
          key={one}
          type="button"
          role="radio"
          aria-checked={one === chosen}
          tabIndex={one === chosen ? 0 : -1}
          data-testid={`${id.replace(/-list$/, "")}-${one}`}
          title={title}
          onClick={() => choose(one)}
        >
          {content}
        </button>
      ))}
    </div>
  );
}

// After the last choice comes the first.
function nextOf(event: KeyboardEvent, choices: readonly RadioChoice[], chosen: string): string | undefined {
  const by = ["ArrowRight", "ArrowDown"].includes(event.key) ? 1 : ["ArrowLeft", "ArrowUp"].includes(event.key) ? -1 : 0;
  if (by === 0 || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return undefined;
  const at = choices.findIndex(({ id }) => id === chosen);
  return choices[(at + by + choices.length) % choices.length]?.id;
}
