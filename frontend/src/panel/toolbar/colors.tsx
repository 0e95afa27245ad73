// The choice of a color scale, which is stored.

import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { rampNamed, RAMPS } from "../../draw/style/ramp_names";
import { rampOf } from "../../draw/style/ramps";
import type { Store } from "../../state/store";
import { ColorsIcon } from "../controls/icons";
import { Popover } from "../controls/popover";
import { keep } from "../controls/kept";
import { RadioGroup } from "../controls/radio_group";
import { rampStops } from "../controls/swatches";

export function Colors({ store }: { readonly store: Store }): JSX.Element {
  const [open, setOpen] = useState(false);
  const chosen = store.look.ramp.value;
  const choose = (id: string): void => {
    const ramp = rampNamed(id) ?? chosen;
    store.look.ramp.value = ramp;
    keep("colors", ramp);
  };
  return (
    <Popover id="colors" label={<ColorsIcon />} look="icon" title="Color scale" open={open} setOpen={setOpen}>
      <div class="colors">
        <RadioGroup
          id="colors-list"
          label="Color scale"
          look="scales"
          choices={RAMPS.map(({ id, text }) => ({
            id,
            content: (
              <>
                <span
                  class="ramp"
                  style={{ background: `linear-gradient(to right, ${rampStops(rampOf(store.look.dark.value, id)).join(", ")})` }}
                />
                {text}
              </>
            ),
          }))}
          chosen={chosen}
          choose={choose}
        />
        <p class="faint">
          In each scale, lightness changes in one direction from the least number to the greatest. So the order is also visible with color
          blindness and in prints without color.
        </p>
      </div>
    </Popover>
  );
}
