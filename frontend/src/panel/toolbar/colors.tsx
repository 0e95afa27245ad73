// The choice of a color scale, which is stored.

import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { rampNamed, RAMPS, type Ramp } from "../../draw/style/ramp_names";
import { rampOf } from "../../draw/style/ramps";
import type { Store } from "../../state/store";
import { ColorsIcon } from "../controls/icons";
import { Popover } from "../controls/popover";
import { rampStops } from "../controls/swatches";

const KEPT = "gradgraph.colors";

// A page that is embedded elsewhere may have no storage.
export function keptRamp(): Ramp | undefined {
  try {
    return rampNamed(window.localStorage.getItem(KEPT));
  } catch {
    return undefined;
  }
}

function keepRamp(ramp: Ramp): void {
  try {
    window.localStorage.setItem(KEPT, ramp);
  } catch {
    // Then the user must choose again next time.
  }
}

export function Colors({ store }: { readonly store: Store }): JSX.Element {
  const [open, setOpen] = useState(false);
  const chosen = store.look.ramp.value;
  const choose = (ramp: Ramp): void => {
    store.look.ramp.value = ramp;
    keepRamp(ramp);
  };
  return (
    <Popover id="colors" label={<ColorsIcon />} look="icon" title="Color scale" open={open} setOpen={setOpen}>
      <div class="colors" role="radiogroup" aria-label="Color scale" data-testid="colors-list">
        {RAMPS.map(({ id, text }) => (
          <button key={id} type="button" role="radio" aria-checked={id === chosen} data-testid={`colors-${id}`} onClick={() => choose(id)}>
            <span
              class="ramp"
              style={{ background: `linear-gradient(to right, ${rampStops(rampOf(store.look.dark.value, id)).join(", ")})` }}
            />
            {text}
          </button>
        ))}
        <p class="faint">
          In each scale, lightness changes in one direction from the least number to the greatest. So the order is also visible with color
          blindness and in prints without color.
        </p>
      </div>
    </Popover>
  );
}
