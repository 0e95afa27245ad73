// Adds a tensor to the charts, or removes it; for a module, all its parameters.

import type { JSX } from "preact";
import type { Hierarchy } from "../../model/tree/hierarchy";
import { isPinned, pin as addPin, unpin } from "./charts_actions";
import { pinsOf, type Charting } from "./charts_state";

export function PinButton({
  charting,
  pin,
  show,
}: {
  readonly charting: Charting;
  readonly pin: string;
  readonly show: () => void;
}): JSX.Element {
  const pinned = isPinned(charting, pin);
  const count = charting.chosen.pins.value.length;
  return (
    <p class="pin">
      <button
        type="button"
        class="link"
        data-testid="pin"
        aria-pressed={pinned}
        onClick={() => (pinned ? unpin(charting, pin) : addPin(charting, [pin]))}
      >
        {pinned ? "Remove from charts" : "Add to charts"}
      </button>
      {count > 0 && (
        <button type="button" class="link" data-testid="show-charts" onClick={show}>
          Show charts ({count})
        </button>
      )}
    </p>
  );
}

export function PinAllButton({
  charting,
  hierarchy,
  id,
}: {
  readonly charting: Charting;
  readonly hierarchy: Hierarchy;
  readonly id: string;
}): JSX.Element {
  return (
    <p class="pin">
      <button type="button" class="link" data-testid="pin-all" onClick={() => addPin(charting, pinsOf(hierarchy, id))}>
        Add its parameters to charts
      </button>
    </p>
  );
}
