// Says which part of the drawing is in view, if it does not fit, and goes to the part before and after.

import type { JSX } from "preact";
import type { Sight } from "../session/drawing";
import { IconButton, NextIcon, PreviousIcon } from "../controls/icons";

interface PartsProps {
  readonly parts: Sight | undefined;
  readonly goTo: (part: number) => void;
}

export function Parts({ parts, goTo }: PartsProps): JSX.Element | null {
  if (parts === undefined) return null;
  const { part, count } = parts;
  return (
    <div class="parts" data-testid="parts">
      <IconButton id="part-before" label="The part before" disabled={part === 1} onClick={() => goTo(part - 1)}>
        <PreviousIcon />
      </IconButton>
      <span>
        part {part} of {count}
      </span>
      <IconButton id="part-after" label="The next part" disabled={part === count} onClick={() => goTo(part + 1)}>
        <NextIcon />
      </IconButton>
    </div>
  );
}
