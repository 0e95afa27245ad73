// Below the heat map: what its colors mean, and what is not drawn of the run.

import type { JSX } from "preact";
import { formatCount } from "../base/format";
import { rampOf } from "../draw/color_scale";
import { BACKWARD } from "../model/run";
import type { Store } from "../state/store";
import type { Drawing } from "./drawing";
import type { Flowing } from "./flow_data";
import { Chip } from "./chip";
import { endsOf, Ramp } from "./legend";

export function FlowLegend({ store, drawing, flowing }: {
  readonly store: Store;
  readonly drawing: Drawing;
  readonly flowing: Flowing;
}): JSX.Element {
  const theme = drawing.theme.value;
  const [statistic, flow] = [store.statistic.value, flowing.flow.value];
  const scale = flowing.scale.value;
  const [[low, high], [lowText, highText]] = [scale.domain, endsOf(scale)];
  const stage = flow === undefined || flow.stage === BACKWARD ? "" : `, ${flow.stage}`;
  const [every, leftOut] = [flow?.every ?? 1, flow?.leftOut ?? 0];
  return (
    <aside class="flow-legend" data-testid="flow-legend" aria-label="Colors" data-low={low} data-high={high}>
      <span class="flow-what" title={statistic.meaning}>Gradient{stage}, {statistic.label}</span>
      <span class="faint" title={beyond(scale.below)}>{lowText}</span>
      <Ramp colors={rampOf(theme.dark, theme.ramp)} scale={scale} />
      <span class="faint" title={beyond(scale.above)}>{highText}{statistic.scale === "log" && " log"}</span>
      <span class="chips">
        <Chip color={theme.zero} border={theme.border}>zero</Chip>
        <Chip color={theme.none} border={theme.noneLine} hatched>no gradient</Chip>
        <Chip color={theme.nonfinite} border={theme.nonfinite}>NaN / inf</Chip>
      </span>
      <span class="faint flow-told" data-testid="flow-told">
        {leftOut > 0 && <span title="Operations without a gradient at any recorded step of this stage. A watch records those inside of modules with level=&quot;op&quot;.">{formatCount(leftOut)} not recorded. </span>}
        {every > 1 && <b>Every {every}th recorded step is drawn. </b>}
        A closed module shows the {statistic.summary === "sum" ? "sum" : "greatest"} of what is in it.
      </span>
    </aside>
  );
}

function beyond(some: boolean): string | undefined {
  return some ? "A few numbers lie beyond, far outside of the others, and have the color of this end. Rest the pointer on a cell for its number." : undefined;
}
