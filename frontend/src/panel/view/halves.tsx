// The choice between the two halves of a step: what flowed forward, and what flowed back.

import type { JSX } from "preact";
import { RadioGroup } from "../controls/radio_group";
import type { Store } from "../../state/store";

const CHOICES = [
  { id: "forward", content: "Forward", title: "Values: what flowed forward, with lines that follow the data (D)" },
  { id: "backward", content: "Backward", title: "Gradients: what flowed back, with lines that follow the gradient (D)" },
] as const;

export function DirectionSwitch({ store }: { readonly store: Store }): JSX.Element {
  return (
    <RadioGroup
      id="direction"
      label="Values forward or gradients backward"
      look="switch"
      choices={CHOICES}
      chosen={store.place.direction.value}
      choose={(id) => (store.place.direction.value = id === "forward" ? "forward" : "backward")}
    />
  );
}

// Forward, where no values were recorded: what is shown instead, and how to record them.
export function NoValues({ store }: { readonly store: Store }): JSX.Element | null {
  const { direction, half, ref, tag } = store.place;
  const there = store.compare.place.value;
  if (direction.value === "backward" || ref.value === undefined) return null;
  if (half.value === "value")
    return there === undefined || there.read !== undefined ? null : (
      <p class="no-values" data-testid="no-values-there" role="status">
        No values were recorded on the other side, so nothing is compared.
      </p>
    );
  const some = tag.value?.records.some(({ hasValues }) => hasValues) === true;
  return (
    <p class="no-values" data-testid="no-values" role="status">
      No values were recorded {some ? "at this step" : "here"}, so gradients are shown. To record them:{" "}
      <code>{ref.value.everyNSteps > 0 ? "watch" : "add_grad_graph"}(…, values=True)</code>
    </p>
  );
}
