// Turns the comparison on and off. Its bar is loaded when it is first shown.

import type { JSX } from "preact";
import { startComparing, stopComparing } from "../../state/compare_actions";
import type { Store } from "../../state/store";
import { deferred } from "../controls/deferred";
import type { CompareBarProps } from "./compare_bar";

export const CompareBar = deferred<CompareBarProps>("The comparison", () => import("./compare_bar").then((loaded) => loaded.CompareBar));

export function CompareSwitch({ store }: { readonly store: Store }): JSX.Element {
  const on = store.compare.choice.value !== undefined;
  return (
    <button
      type="button"
      class="pill"
      data-testid="compare"
      aria-pressed={on}
      title="Compares with another step, run or graph (C)"
      onClick={() => (on ? stopComparing(store) : startComparing(store))}
    >
      Compare
    </button>
  );
}
