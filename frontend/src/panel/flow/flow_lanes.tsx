// The findings of the training above the columns of their steps.

import type { JSX } from "preact";
import { toPx } from "../../model/flow/flow_window";
import type { Bar } from "../../model/findings/run_findings";
import type { Store } from "../../state/store";
import { Lanes } from "../findings/lanes";
import type { Flowing } from "./data/flow_data";

// From the beginning of the column of its first step to the end of that of its last.
export function FlowLanes({ store, flowing }: { readonly store: Store; readonly flowing: Flowing }): JSX.Element {
  const [columns, { strip }] = [flowing.columns.value, flowing.head.value];
  const steps = flowing.flow.value?.steps ?? [];
  const extentOf = ({ from, to }: Bar): { left: string; width: string } | undefined => {
    const [first, last] = [from, to].map((part) => Math.round(part * (steps.length - 1))) as [number, number];
    const left = Math.max(0, toPx(columns, first));
    const right = Math.min(strip.width, toPx(columns, last + 1));
    return right <= left ? undefined : { left: `${left}px`, width: `${right - left}px` };
  };
  return (
    <div class="flow-lanes" style={{ top: `${strip.y}px`, width: `${strip.width}px` }}>
      <Lanes store={store} steps={steps} select={(id) => (store.shown.selected.value = id)} id="flow-lanes" extentOf={extentOf} />
    </div>
  );
}
