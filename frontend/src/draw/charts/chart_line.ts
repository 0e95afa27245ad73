// One line of a chart.

export interface ChartLine {
  readonly id: string;
  readonly label: string;
  readonly color: string;
  readonly dash?: readonly number[];
  readonly width?: number;
  readonly steps: readonly number[]; // ascending, each once
  readonly values: readonly (number | null)[];
  readonly fillTo?: string; // the line to which the area between both is filled, by id
  readonly gap?: string; // what a missing number means; undefined: no gradient
  readonly nonfinite?: ReadonlyMap<number, number>; // steps with NaN or infinite elements, and which of these
}
