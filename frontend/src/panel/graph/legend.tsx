// What the colors and shapes mean, with numbers.

import type { JSX } from "preact";
import { formatNumber } from "../../base/format";
import { rampOf } from "../../draw/style/color_scale";
import { spokenIn } from "../../model/recorded/complex";
import { nounOf } from "../../model/recorded/record";
import type { Store } from "../../state/store";
import { BesideScale, endsOf, Ramp } from "../controls/swatches";
import type { Drawing } from "../session/drawing";
import { CompareLegend } from "./compare_legend";

export function Legend({ store, drawing }: { readonly store: Store; readonly drawing: Drawing }): JSX.Element {
  const there = store.compare.place.value;
  if (there?.read !== undefined) return <CompareLegend store={store} drawing={drawing} there={there} />;
  const theme = drawing.theme.value;
  const statistic = spokenIn(store.shown.statistic.value, store.recorded.hierarchy.value?.graph);
  const stage = store.recorded.record.value?.stage;
  const ramp = rampOf(theme.dark, theme.ramp);
  const scale = drawing.scale.value;
  const [[low, high], [lowText, highText]] = [scale.domain, endsOf(scale)];
  const middle = statistic.scale === "unit" ? (low + high) / 2 : Math.sqrt(low * high);
  return (
    <aside class="legend" data-testid="legend" aria-label="Colors" data-low={low} data-high={high}>
      <div class="legend-title" title={statistic.meaning}>
        {nounOf(stage)}, {statistic.label}
        <span class="faint">{statistic.scale === "log" ? " log" : ""}</span>
      </div>
      <div class="legend-scale">
        <Ramp colors={ramp} scale={scale} />
        <div class="ramp-numbers">
          <span>{lowText}</span>
          <span>{formatNumber(middle)}</span>
          <span>{highText}</span>
        </div>
      </div>
      <div class="chips">
        <BesideScale theme={theme} half={store.shown.half.value} />
      </div>
      <Signs drawing={drawing} />
    </aside>
  );
}

// Marks that not every graph has are explained only where they occur.
function Signs({ drawing }: { readonly drawing: Drawing }): JSX.Element | null {
  const scene = drawing.drawn.value?.scene;
  const theme = drawing.theme.value;
  if (scene === undefined) return null;
  const order = scene.boxes.some((box) => box.order > 1);
  const retains = scene.boxes.some((box) => box.retains);
  const cut = scene.edges.some((edge) => edge.cut);
  const chain = scene.edges.some((edge) => edge.chains.length > 0);
  if (!order && !retains && !cut && !chain) return null;
  return (
    <div class="chips signs" data-testid="signs">
      {order && (
        <span class="chip" title="Made by a backward that ran with create_graph=True">
          <svg width="16" height="12">
            <rect
              x="1"
              y="1"
              width="14"
              height="10"
              rx="3"
              fill="none"
              stroke={theme.secondOrder}
              stroke-width="1.5"
              stroke-dasharray="4 2"
            />
          </svg>
          second order
        </span>
      )}
      {retains && (
        <span class="chip" title="retain_grad() was called on it">
          <svg width="12" height="12">
            <circle cx="6" cy="6" r="5" fill="none" stroke={theme.leaf} stroke-width="1.5" />
            <circle cx="6" cy="6" r="2.4" fill={theme.leaf} />
          </svg>
          retains grad
        </span>
      )}
      {cut && (
        <span class="chip" title="No gradient flows back through here">
          <svg width="14" height="12">
            <path d="M0 6H4M10 6H14" stroke={theme.edge} />
            <path d="M5 1V11M9 1V11" stroke={theme.cut} stroke-width="2" />
          </svg>
          cut
        </span>
      )}
      {chain && (
        <span class="chip" title="Operations such as view, transpose and t, folded into the line. A click on the mark opens them">
          <svg width="14" height="12">
            <circle cx="7" cy="6" r="5" fill="none" stroke={theme.edge} />
            <path d="M4.5 6h.1M7 6h.1M9.5 6h.1" stroke={theme.inkSoft} stroke-width="1.6" stroke-linecap="round" />
          </svg>
          reshaping
        </span>
      )}
    </div>
  );
}
