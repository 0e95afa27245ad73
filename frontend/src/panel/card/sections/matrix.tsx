// A small array, written out: the last dimension across, the others down.

import type { JSX } from "preact";
import { formatNumber, plainNumber } from "../../../base/format";

const MOST = 256;

export function Matrix({ title, id, numbers, shape }: {
  readonly title: string;
  readonly id: string;
  readonly numbers: readonly number[];
  readonly shape: readonly number[];
}): JSX.Element {
  const across = Math.max(1, Math.min(8, shape.at(-1) ?? 1));
  const shown = numbers.slice(0, MOST);
  const rows = Array.from({ length: Math.ceil(shown.length / across) }, (_, i) => shown.slice(i * across, (i + 1) * across));
  return (
    <figure data-testid={id} data-whole={numbers.map(plainNumber).join(",")}>
      <figcaption>{title}</figcaption>
      <table class="matrix">
        <tbody>
          {rows.map((row, i) => (
            <tr key={i}>{row.map((value, j) => <td key={j} class={Number.isFinite(value) ? "" : "bad"}>{formatNumber(value)}</td>)}</tr>
          ))}
        </tbody>
      </table>
      {numbers.length > MOST && <p class="faint">first {MOST} of {numbers.length}</p>}
    </figure>
  );
}
