// Saves a chart: as a picture, or its numbers as a table.

import type { JSX } from "preact";
import { csvOf } from "../../base/csv";
import type { ChartLine } from "../../draw/charts/chart_line";
import { chartSize, paintChart, type DrawnChart } from "../../draw/charts/paint_chart";
import type { Store } from "../../state/store";
import { valueIn } from "../chart/chart";
import type { Drawing } from "../session/drawing";
import { saveFile } from "./download";
import { nameOf, savePicture, type Painted } from "./picture";

export type SavedChart = Omit<DrawnChart, "of"> & {
  readonly name: string; // in the file's name
  readonly columns: readonly string[]; // of the table, one per line
};

export function SaveChart({
  store,
  drawing,
  chart,
  look,
}: {
  readonly store: Store;
  readonly drawing: Drawing;
  readonly chart: SavedChart;
  readonly look: "link" | "action";
}): JSX.Element {
  const name = `${nameOf(store)}-${chart.name}`.replace(/[^\w-]+/g, "_");
  const saveTable = (): void => saveFile(`${name}.csv`, new Blob([csvOf(tableOf(chart))], { type: "text/csv" }));
  const picture = (format: "png" | "svg"): void => {
    void savePicture(format, pictureOfChart(store, drawing, chart), name, store);
  };
  return (
    <span class="save-chart">
      <button type="button" class={look} data-testid="chart-csv" title="Save these numbers as a table, CSV" onClick={saveTable}>
        CSV
      </button>
      <button type="button" class={look} data-testid="chart-png" title="Save a picture of this chart, PNG" onClick={() => picture("png")}>
        PNG
      </button>
      <button type="button" class={look} data-testid="chart-svg" title="Save a picture of this chart, SVG" onClick={() => picture("svg")}>
        SVG
      </button>
    </span>
  );
}

export function pictureOfChart(store: Store, drawing: Drawing, chart: SavedChart): Painted {
  const of = [store.place.run.peek()?.run, store.place.tag.peek()?.tag].filter((part) => part !== undefined && part !== ".").join(" · ");
  const drawn = { ...chart, of };
  return {
    size: chartSize(drawn),
    paint(context, pixelRatio) {
      context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
      paintChart(context, drawn, drawing.theme.peek());
    },
  };
}

// One row for each step. If a line has no gradient at a step, the cell is empty.
export function tableOf({ lines, columns }: SavedChart): readonly (readonly (string | number | null)[])[] {
  const steps = [...new Set(lines.flatMap((line: ChartLine) => line.steps))].sort((a, b) => a - b);
  return [["step", ...columns], ...steps.map((step) => [step, ...lines.map((line) => valueIn(line, step) ?? null)])];
}
