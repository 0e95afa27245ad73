// The findings of the training over the steps, below the slider and above the heat map: what, from when to when.

import type { JSX } from "preact";
import { lanesOf, nameOf, stepsOf, type Bar, type RunFinding } from "../../model/findings/run_findings";
import type { Store } from "../../state/store";
import { goToFinding, type Select } from "./go_to_finding";

type Extent = { readonly left: string; readonly width: string };

// `extentOf`: where a bar is drawn; undefined: it is out of sight. Without it the steps fill the width.
export function Lanes({
  store,
  steps,
  select,
  id = "lanes",
  extentOf = ({ from, to }) => ({ left: `${100 * from}%`, width: `${100 * (to - from)}%` }),
}: {
  readonly store: Store;
  readonly steps: readonly number[];
  readonly select: Select;
  readonly id?: string;
  readonly extentOf?: (bar: Bar) => Extent | undefined;
}): JSX.Element | null {
  const causes = store.findings.causes.value;
  if (causes.length === 0 || steps.length < 2) return null;
  return (
    <div class="lanes" data-testid={id} role="group" aria-label="Findings over the steps">
      {lanesOf(causes, steps).map((bars, lane) => (
        <div key={lane}>
          {bars.map((bar) => (
            <LaneBar
              key={nameOf(bar.finding)}
              finding={bar.finding}
              extent={extentOf(bar)}
              go={() => goToFinding(store, bar.finding, select)}
            />
          ))}
        </div>
      ))}
    </div>
  );
}

function LaneBar({
  finding,
  extent,
  go,
}: {
  readonly finding: RunFinding;
  readonly extent: Extent | undefined;
  readonly go: () => void;
}): JSX.Element | null {
  if (extent === undefined) return null;
  const told = `${finding.text} (${stepsOf(finding)})`;
  return (
    <button
      type="button"
      class={`severity-${finding.severity}`}
      data-kind={finding.kind}
      data-from={finding.firstStep}
      data-to={finding.lastStep}
      title={told}
      aria-label={told}
      style={extent}
      onClick={go}
    />
  );
}
