// What the colors mean while two records are compared.

import type { JSX } from "preact";
import { runTitle } from "../../model/recorded/run";
import { formatNumber } from "../../base/format";
import { ratioColor, ratioStops } from "../../draw/compare/ratio_scale";
import { nounOf } from "../../model/recorded/record";
import { thereText, type Place } from "../../state/compare";
import type { Store } from "../../state/store";
import { BesideScale, Chip } from "../controls/swatches";
import type { Drawing } from "../session/drawing";

export function CompareLegend({
  store,
  drawing,
  there,
}: {
  readonly store: Store;
  readonly drawing: Drawing;
  readonly there: Place;
}): JSX.Element {
  const theme = drawing.theme.value;
  const places = store.compare.places.value;
  const most = 2 ** store.compare.reach.value;
  const statistic = store.shown.statistic.value;
  return (
    <aside class="legend" data-testid="legend" aria-label="Colors" data-low={1 / most} data-high={most}>
      <div class="legend-title" title={statistic.meaning}>
        {nounOf(store.recorded.record.value?.stage)}, {statistic.label}
        {statistic.signed ? ", magnitude" : ""}: here ÷ there
      </div>
      <div class="faint legend-line">
        here {placeText(store.place.run.value?.run, store.place.tag.value?.tag, store.place.ref.value?.step)}
      </div>
      <div class="faint legend-line">
        there {thereText(places)}, step {there.ref.step}
      </div>
      <div class="legend-scale">
        <div class="ramp" style={{ background: `linear-gradient(to right, ${ratioStops(theme).join(", ")})` }} />
        <div class="ramp-numbers">
          <span>÷{formatNumber(most)} smaller here</span>
          <span>×{formatNumber(most)} greater here</span>
        </div>
      </div>
      <div class="chips">
        <Chip color={theme.surface} border={theme.only} hatched>
          only here
        </Chip>
        {store.recorded.hierarchy.value?.graph.joint !== "" && (
          <Chip color={theme.background} border={theme.only} dashed>
            only there
          </Chip>
        )}
        <Chip color={theme.zero} border={ratioColor(-Infinity, 1, theme)} framed>
          zero here
        </Chip>
        <Chip color={theme.zero} border={ratioColor(Infinity, 1, theme)} framed>
          zero there
        </Chip>
        {places.length > 1 && <span class="faint">▲ above, ▼ below all runs there</span>}
        <BesideScale theme={theme} half={store.shown.half.value} compared />
      </div>
    </aside>
  );
}

function placeText(run: string | undefined, tag: string | undefined, step: number | undefined): string {
  return `${runTitle(run)} / ${tag}, step ${step}`;
}
