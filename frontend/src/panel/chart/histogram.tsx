// How many sampled elements have each magnitude: bars over log2 |g|.

import type { JSX } from "preact";
import { formatNumber } from "../../base/format";

export function Histogram({
  counts,
  low,
  width,
}: {
  readonly counts: ArrayLike<number>;
  readonly low: number;
  readonly width: number;
}): JSX.Element {
  const bins = Array.from(counts);
  const greatest = Math.max(1, ...bins);
  const sampled = bins.reduce((sum, count) => sum + count, 0);
  const filled = bins.flatMap((count, i) => (count > 0 ? [i] : []));
  // Empty bins at both ends are left out, but at least eight bins are kept, so that the shape is visible.
  const from = Math.max(0, Math.min((filled[0] ?? 0) - 1, bins.length - 8));
  const to = Math.max(from + 8, (filled.at(-1) ?? 0) + 2);
  return (
    <div class="histogram" data-testid="histogram" role="img" aria-label={`${sampled} nonzero elements sampled`}>
      <div class="bars">
        {bins.slice(from, to).map((count, i) => (
          <span
            key={from + i}
            style={{ height: `${(100 * count) / greatest}%` }}
            title={`${formatNumber(2 ** (low + width * (from + i)))} to ${formatNumber(2 ** (low + width * (from + i + 1)))}: ${count}`}
          />
        ))}
      </div>
      <div class="ramp-numbers">
        <span>{formatNumber(2 ** (low + width * from))}</span>
        <span class="faint">{sampled} sampled</span>
        <span>{formatNumber(2 ** (low + width * Math.min(to, bins.length)))}</span>
      </div>
    </div>
  );
}
