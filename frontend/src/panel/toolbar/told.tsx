// What is said beside the step: the GradScaler's factor, a skipped step, how often steps are recorded and at what cost.

import type { JSX } from "preact";
import { formatCount, formatNumber } from "../../base/format";
import { cadenceBefore, type RecordRef } from "../../model/recorded/run";

export function Told({ records, shown }: {
  readonly records: readonly RecordRef[];
  readonly shown: RecordRef;
}): JSX.Element {
  const { lossScale, everyNSteps, cost } = shown;
  const before = everyNSteps > 0 ? cadenceBefore(records, shown) : undefined;
  // Whether a step is skipped is known only after its backward.
  const skipped = records.some((record) => record.step === shown.step && record.skipped);
  return (
    <span class="told" data-testid="told">
      {skipped && <b class="skipped" data-testid="skipped" title="The GradScaler skipped this optimizer step: gradients were not finite. No weight changed.">skipped</b>}
      {lossScale !== 1 && <span class="faint" data-testid="loss-scale" title="A GradScaler's factor on the loss. It is divided out of all numbers here.">loss scale {formatNumber(lossScale)}</span>}
      {everyNSteps > 0 && (
        <span class="faint" data-testid="cadence" title={cadenceTitle(everyNSteps, cost)}>
          every {everyNSteps === 1 ? "step" : `${formatCount(everyNSteps)} steps`}
          {before !== undefined && ` (${formatCount(before.everyNSteps)} until step ${before.until})`}{cost > 0 && `, cost ${percent(cost)}`}
        </span>
      )}
    </span>
  );
}

function cadenceTitle(everyNSteps: number, cost: number): string {
  const often = everyNSteps === 1 ? "Every step was recorded then." : `Every ${formatCount(everyNSteps)}th step was recorded then.`;
  return cost > 0 ? `${often} Recording took ${percent(cost)} of the time since the recorded step before.` : often;
}

function percent(share: number): string {
  return `${formatNumber(Number((100 * share).toPrecision(2)))} %`;
}
