// The properties of a chart.

import type { ChartLine } from "../../draw/charts/chart_line";
import type { Theme } from "../../draw/style/theme";

export interface ChartProps {
  readonly id?: string; // for tests
  readonly lines: readonly ChartLine[];
  readonly log: boolean;
  readonly label: string; // next to the vertical axis, if its numbers need one
  readonly step: number | undefined; // the marked step
  readonly theme: Theme;
  readonly smoothing?: number;
  readonly fills?: boolean; // takes all the available height
  readonly goTo: (step: number) => void;
  readonly pointAt?: (step: number | undefined) => void;
}
