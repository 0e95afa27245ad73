// The legend below the heat map: the meaning of colors, and the part of the run that is not drawn.

import type { JSX } from "preact";
import { runTitle } from "../../model/recorded/run";
import { formatCount, formatNumber } from "../../base/format";
import { ratioColor, ratioStops } from "../../draw/compare/ratio_scale";
import { rampOf } from "../../draw/style/color_scale";
import type { Theme } from "../../draw/style/theme";
import type { Flow } from "../../model/flow/flow";
import { isCompared, type ComparedFlow } from "../../model/flow/flow_compared";
import { spokenIn } from "../../model/recorded/complex";
import { halfOf, nounOf, type Half } from "../../model/recorded/record";
import { thereText } from "../../state/compare";
import type { Store } from "../../state/store";
import { NoValues } from "../view/halves";
import { BesideScale, Chip, endsOf, Ramp } from "../controls/swatches";
import type { Drawing } from "../session/drawing";
import type { Flowing } from "./data/flow_data";

export function FlowLegend({
  store,
  drawing,
  flowing,
}: {
  readonly store: Store;
  readonly drawing: Drawing;
  readonly flowing: Flowing;
}): JSX.Element {
  const theme = drawing.theme.value;
  const there = store.compare.place.value;
  if (flowing.flow.value !== undefined && isCompared(flowing.flow.value) && there !== undefined)
    return <ComparedLegend store={store} theme={theme} flow={flowing.flow.value} />;
  const [statistic, flow] = [spokenIn(store.shown.statistic.value, store.recorded.hierarchy.value?.graph), flowing.flow.value];
  const scale = drawing.scale.value;
  const [[low, high], [lowText, highText]] = [scale.domain, endsOf(scale)];
  const half = halfOf(flow?.stage);
  const every = flow?.every ?? 1;
  return (
    <aside class="flow-legend" data-testid="flow-legend" aria-label="Colors" data-low={low} data-high={high}>
      <NoValues store={store} />
      <span class="flow-what" title={statistic.meaning}>
        {nounOf(flow?.stage)}, {statistic.label}
      </span>
      <span class="faint" title={beyond(scale.below)}>
        {lowText}
      </span>
      <Ramp colors={rampOf(theme.dark, theme.ramp)} scale={scale} />
      <span class="faint" title={beyond(scale.above)}>
        {highText}
        {statistic.scale === "log" && " log"}
      </span>
      <span class="chips">
        <BesideScale theme={theme} half={half} />
      </span>
      <span class="faint flow-told" data-testid="flow-told">
        <LeftOut flow={flow} half={half} />
        {every > 1 && <b>Every {every}th recorded step is drawn. </b>}A closed module shows the{" "}
        {statistic.summary === "sum" ? "sum" : "greatest"} of what is in it.
      </span>
    </aside>
  );
}

// The level is advised only where it would record more.
function LeftOut({ flow, half }: { readonly flow: Flow | undefined; readonly half: Half }): JSX.Element | null {
  if (flow === undefined || flow.leftOut === 0) return null;
  const advice = half === "gradient" && flow.atOpLevel > 0;
  const which = `No ${half} arrived there at any recorded step${half === "value" ? "" : " of this stage"}.`;
  return (
    <span title={advice ? `${which} A watch records those inside modules with level="op".` : which}>
      {formatCount(flow.leftOut)} operation{flow.leftOut === 1 ? "" : "s"} without a {half}
      {advice && <> (level=&quot;op&quot; records those inside modules)</>}.{" "}
    </span>
  );
}

function ComparedLegend({
  store,
  theme,
  flow,
}: {
  readonly store: Store;
  readonly theme: Theme;
  readonly flow: ComparedFlow;
}): JSX.Element {
  const most = 2 ** store.compare.reach.value;
  const { statistic, stage, every, against, runs } = flow;
  return (
    <aside class="flow-legend" data-testid="flow-legend" aria-label="Colors" data-low={1 / most} data-high={most} data-against={against}>
      <span class="flow-what" title={statistic.meaning}>
        {nounOf(stage)}, {statistic.label}
        {statistic.signed ? ", magnitude" : ""}: here ÷ there
      </span>
      <span class="faint">÷{formatNumber(most)}</span>
      <div class="ramp" style={{ background: `linear-gradient(to right, ${ratioStops(theme).join(", ")})` }} />
      <span class="faint">×{formatNumber(most)}</span>
      <span class="chips">
        <Chip color={theme.surface} border={theme.only} hatched>
          only here
        </Chip>
        <Chip color={theme.surface} border={theme.only} hatched lean={-1}>
          only there
        </Chip>
        <Chip color={ratioColor(-Infinity, 1, theme)} border={theme.zero} hatched>
          zero here
        </Chip>
        <Chip color={ratioColor(Infinity, 1, theme)} border={theme.zero} hatched lean={-1}>
          zero there
        </Chip>
        {runs > 1 && (
          <Chip color={theme.surface} border={theme.ink} dotted>
            ▲ above, ▼ below all runs there
          </Chip>
        )}
        <BesideScale theme={theme} half={halfOf(stage)} compared />
      </span>
      <span class="faint flow-told" data-testid="flow-told">
        {every > 1 && <b>Every {every}th recorded step is drawn. </b>}
        here {placeText(store.place.run.value?.run, store.place.tag.value?.tag)}, there {thereText(store.compare.places.value)},{" "}
        {against === undefined ? "step by step" : `always step ${against}`}
      </span>
    </aside>
  );
}

function placeText(run: string | undefined, tag: string | undefined): string {
  return `${runTitle(run)} / ${tag}`;
}

function beyond(some: boolean): string | undefined {
  return some
    ? "A few numbers lie far beyond this end and have the color of this end. Rest the pointer on a cell to see its number."
    : undefined;
}
