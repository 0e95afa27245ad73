// What a chart is given.

import type { ChartLine } from "../../draw/charts/chart_line";
import type { Theme } from "../../draw/style/theme";

export interface ChartProps {
  readonly id?: string; // for tests
  readonly lines: readonly ChartLine[];
  readonly log: boolean;
  readonly label: string; // beside the vertical axis, if its numbers need a word
  readonly step: number | undefined; // that is marked
  readonly theme: Theme;
  readonly smoothing?: number;
  readonly fills?: boolean; // takes all the available height
  readonly goTo: (step: number) => void;
  readonly pointAt?: (step: number | undefined) => void;
}
