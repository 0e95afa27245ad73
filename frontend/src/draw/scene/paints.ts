// The look of the boxes and lines of a scene at one step.

import type { Half } from "../../model/recorded/record";
import type { State } from "../../model/visible/values";

export interface BoxPaint {
  readonly fill: string;
  readonly ink: string;
  readonly state: State;
  readonly detail: string;
  readonly told: boolean; // whether the record states that it has no gradient
  readonly only?: boolean; // the other side of the comparison has no such node
  readonly zero?: boolean; // exactly zero on one side of a comparison: then its color is only a frame
  readonly unread?: boolean; // its value was not read
  readonly ghost?: boolean; // only the other side of the comparison has it
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
  readonly half: Half; // what the numbers are
}
