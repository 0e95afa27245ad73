// The choice of the view: a button for each.

import type { JSX } from "preact";
import { RadioGroup } from "../controls/radio_group";
import type { Views } from "../view/views";

export function ViewSwitch({ views }: { readonly views: Views }): JSX.Element {
  return (
    <RadioGroup
      id="view"
      label="View"
      look="switch view"
      choices={views.all.map(({ id, text, title }) => ({ id, title, content: text }))}
      chosen={views.shown.value.id}
      choose={views.show}
    />
  );
}
