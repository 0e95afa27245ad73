// The properties of a chart.

import type { ChartLine } from "../../draw/charts/chart_line";
import type { Theme } from "../../draw/style/theme";

export type Range = readonly [low: number, high: number];

// The part that is shown of each axis; undefined: all of it.
export interface Zoom {
  readonly x?: Range;
  readonly y?: Range;
}

export interface ChartProps {
  readonly id?: string; // for tests
  readonly lines: readonly ChartLine[];
  readonly log: boolean;
  readonly label: string; // next to the vertical axis, if its numbers need one
  readonly step: number | undefined; // the marked step
  readonly theme: Theme;
  readonly smoothing?: number;
  readonly fills?: boolean; // takes all the available height
  readonly range?: Range | undefined; // of the vertical axis; undefined: all numbers
  readonly zoom?: Zoom;
  readonly setZoom?: (zoom: Zoom) => void; // without it, there is no zoom
  readonly goTo: (step: number) => void;
  readonly pointAt?: (step: number | undefined) => void;
}
