// How the boxes and lines of a scene look at one step.

import type { State } from "../../model/visible/values";

export interface BoxPaint {
  readonly fill: string;
  readonly ink: string;
  readonly state: State;
  readonly detail: string;
  readonly told: boolean; // whether the record says that it has no gradient
  readonly only?: boolean; // what it is compared with has no such node
  readonly zero?: boolean; // compared, and exactly zero on one side: its color is a frame around the color of zero
  readonly ghost?: boolean; // only what it is compared with has it
  readonly strip: readonly string[]; // colors of its cells
  readonly zeros?: readonly boolean[]; // the same as `zero`, by cell
}

export interface EdgePaint {
  readonly state: State;
  readonly weight: number; // 0..1 along the color scale
  readonly told: boolean;
  readonly label: string;
}

export interface Paints {
  readonly boxes: readonly BoxPaint[];
  readonly edges: readonly EdgePaint[];
}
