// A color of a legend and what it means.

import type { JSX } from "preact";

export function Chip({ color, border, children, hatched = false, dashed = false, lean = 1, framed = false }: {
  readonly color: string;
  readonly border: string;
  readonly children: string;
  readonly hatched?: boolean;
  readonly dashed?: boolean;
  readonly lean?: 1 | -1;
  readonly framed?: boolean;
}): JSX.Element {
  const hatch = `repeating-linear-gradient(${90 + 45 * lean}deg, ${color} 0 3px, ${border} 3px 4px)`;
  return (
    <span class="chip">
      <i style={{ background: hatched ? hatch : color, borderColor: border, borderStyle: dashed ? "dashed" : "solid", borderWidth: framed ? "3px" : undefined }} />
      {children}
    </span>
  );
}
