// The small picture in the row of a finding.

import { useMemo } from "preact/hooks";
import type { JSX } from "preact";
import { formatNumber } from "../../base/format";
import type { RunFinding } from "../../model/findings/run_findings";
import { sparklineOf } from "../../model/findings/sparkline";

const WIDTH = 96;
const HEIGHT = 24;

export function PictureOfFinding({ finding, steps }: { readonly finding: RunFinding; readonly steps: readonly number[] }): JSX.Element {
  const { line, bad, band, isLog } = useMemo(() => sparklineOf(finding, WIDTH, HEIGHT, steps), [finding, steps.length]);
  return (
    <svg class="spark" width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={wordsOf(finding, isLog)}>
      <title>{wordsOf(finding, isLog)}</title>
      <rect class="spark-ground" width={WIDTH} height={HEIGHT} rx={3} />
      <rect
        class={`spark-band severity-${finding.severity}`}
        x={band[0]}
        y={line === "" ? HEIGHT / 2 - 3 : 0}
        width={band[1] - band[0]}
        height={line === "" ? 6 : HEIGHT}
        rx={line === "" ? 2 : 1}
        opacity={line === "" ? 1 : 0.16}
      />
      {line !== "" && <path class="spark-line" d={line} />}
      {bad.map((x) => (
        <path key={x} class="spark-bad" d={`M${x.toFixed(1)} 2v4`} />
      ))}
    </svg>
  );
}

function wordsOf({ measure, numbers, firstStep, lastStep }: RunFinding, isLog: boolean): string {
  const [first, last] = [numbers[0], numbers.at(-1)];
  if (first === undefined || last === undefined) return `From step ${firstStep} to ${lastStep}`;
  const scale = isLog ? " (logarithmic)" : "";
  return `${measure}${scale}: ${formatNumber(first[1])} at step ${first[0]}, ${formatNumber(last[1])} at step ${last[0]}`;
}
