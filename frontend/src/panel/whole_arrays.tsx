// Value and gradient of a tensor that is kept whole: numbers where they are few, else a picture.

import type { JSX } from "preact";
import { recordIn, type NodeSeries } from "../api/parse";
import { formatCount } from "../base/format";
import type { Theme } from "../draw/theme";
import type { Graph } from "../model/graph";
import { WHOLE_LIMIT, type RecordedStep, type Whole } from "../model/record";
import { HeatMap } from "./heat_map";
import { Matrix } from "./matrix";

export function WholeArrays({ record, series, graph, row, seed, theme }: {
  readonly record: RecordedStep | undefined;
  readonly series: NodeSeries | undefined; // of this row: it may hold what the step had no room for
  readonly graph: Graph;
  readonly row: number;
  readonly seed: boolean;
  readonly theme: Theme;
}): JSX.Element | null {
  const whole = record && (record.whole.get(row) ?? wholeIn(series, record));
  const { shape, dtype } = graph.columns.slots;
  const sizes = shape[row] ?? [];
  if (whole === undefined) return <LeftOut record={record} elements={sizes.reduce((product, size) => product * size, 1)} />;
  const parts = dtype[row]?.startsWith("complex") ? [...sizes, 2] : sizes;
  const array = (title: string, id: string, numbers: readonly number[] | undefined): JSX.Element | undefined => {
    if (numbers === undefined) return undefined;
    if (numbers.length <= 2 * WHOLE_LIMIT) return <Matrix title={title} id={id} numbers={numbers} shape={parts} />;
    return <HeatMap title={title} id={id} numbers={numbers} shape={parts} theme={theme} />;
  };
  return (
    <div class="wholes">
      {array("value", "whole-value", whole.value)}
      {array(seed ? "seed gradient" : "gradient", "whole-gradient", whole.gradient)}
    </div>
  );
}

function wholeIn(series: NodeSeries | undefined, record: RecordedStep): Whole | undefined {
  return series?.whole.get(recordIn(series, record));
}

// The server bounds one answer; what did not fit is said where it may be missed.
function LeftOut({ record, elements }: { readonly record: RecordedStep | undefined; readonly elements: number }): JSX.Element | null {
  if (record === undefined || record.leftOut === 0 || elements <= WHOLE_LIMIT) return null;
  return (
    <p class="faint" data-testid="left-out">
      {formatCount(record.leftOut)} retained {record.leftOut === 1 ? "gradient is" : "gradients are"} too large to be sent with this step.
    </p>
  );
}
