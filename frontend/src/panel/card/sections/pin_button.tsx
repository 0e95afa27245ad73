// Puts a tensor among those that are drawn over each other, and takes it away.

import type { JSX } from "preact";
import { isPinned, pin as addPin, unpin } from "../../../state/charts_actions";
import { showView } from "../../../state/flow_actions";
import type { Store } from "../../../state/store";

export function PinButton({ store, pin }: { readonly store: Store; readonly pin: string }): JSX.Element {
  const pinned = isPinned(store, pin);
  const count = store.charts.pins.value.length;
  return (
    <p class="pin">
      <button type="button" class="link" data-testid="pin" aria-pressed={pinned} onClick={() => (pinned ? unpin(store, pin) : addPin(store, [pin]))}>
        {pinned ? "Remove from charts" : "Add to charts"}
      </button>
      {count > 0 && <button type="button" class="link" data-testid="show-charts" onClick={() => showView(store, "charts")}>Show charts ({count})</button>}
    </p>
  );
}
