// The findings of the training below the slider: what, from when to when.

import type { JSX } from "preact";
import { lanesOf, nameOf, stepsOf, type Bar } from "../../model/findings/run_findings";
import type { Store } from "../../state/store";
import { goToFinding, type Select } from "./go_to_finding";

export function Lanes({
  store,
  steps,
  select,
}: {
  readonly store: Store;
  readonly steps: readonly number[];
  readonly select: Select;
}): JSX.Element | null {
  const causes = store.findings.causes.value;
  if (causes.length === 0 || steps.length < 2) return null;
  return (
    <div class="lanes" data-testid="lanes" role="group" aria-label="Findings over the steps">
      {lanesOf(causes, steps).map((bars, lane) => (
        <div key={lane}>
          {bars.map((bar) => (
            <LaneBar key={nameOf(bar.finding)} bar={bar} go={() => goToFinding(store, bar.finding, select)} />
          ))}
        </div>
      ))}
    </div>
  );
}

function LaneBar({ bar: { finding, from, to }, go }: { readonly bar: Bar; readonly go: () => void }): JSX.Element {
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
      style={{ left: `${100 * from}%`, width: `${100 * (to - from)}%` }}
      onClick={go}
    />
  );
}
