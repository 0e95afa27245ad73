// What the colors and shapes mean, with numbers.

import type { JSX } from "preact";
import { formatNumber } from "../base/format";
import { rampOf } from "../draw/color_scale";
import type { Store } from "../state/store";
import type { Drawing } from "./drawing";

const STOPS = 12;

export function Legend({ store, drawing }: { readonly store: Store; readonly drawing: Drawing }): JSX.Element {
  const theme = drawing.theme.value;
  const statistic = store.statistic.value;
  const ramp = rampOf(theme.dark);
  const { domain: [low, high] } = drawing.scale.value;
  const stops = Array.from({ length: STOPS }, (_, i) => ramp[Math.round((i / (STOPS - 1)) * (ramp.length - 1))]);
  const middle = statistic.scale === "unit" ? (low + high) / 2 : Math.sqrt(low * high);
  return (
    <aside class="legend" data-testid="legend" aria-label="Colors" data-low={low} data-high={high}>
      <div class="legend-title" title={statistic.meaning}>
        Gradient, {statistic.label}
        <span class="faint">{statistic.scale === "log" ? " log" : ""}</span>
      </div>
      <div class="ramp" style={{ background: `linear-gradient(to right, ${stops.join(", ")})` }} />
      <div class="ramp-numbers">
        <span>{formatNumber(low)}</span><span>{formatNumber(middle)}</span><span>{formatNumber(high)}</span>
      </div>
      <div class="chips">
        <Chip color={theme.zero} border={theme.border}>zero</Chip>
        <Chip color={theme.none} border={theme.noneLine} hatched>none</Chip>
        <Chip color={theme.nonfinite} border={theme.nonfinite}>NaN / inf</Chip>
      </div>
    </aside>
  );
}

function Chip({ color, border, children, hatched = false }: {
  readonly color: string;
  readonly border: string;
  readonly children: string;
  readonly hatched?: boolean;
}): JSX.Element {
  const hatch = `repeating-linear-gradient(135deg, ${color} 0 3px, ${border} 3px 4px)`;
  return (
    <span class="chip">
      <i style={{ background: hatched ? hatch : color, borderColor: border }} />
      {children}
    </span>
  );
}
