// The same line of the other side of a comparison: of its run, or of each of several.

import { signal, type ReadonlySignal } from "@preact/signals";
import { readScalar } from "../../../api/read_flow";
import type { Disposer } from "../../../base/disposer";
import { followLatest } from "../../../base/follow_latest";
import { success, type Result } from "../../../base/result";
import type { LineThere } from "../../../draw/flow/paint_scalar";
import { groupRange } from "../../../model/charts/group_range";
import { atPass, type ScalarSeries } from "../../../model/flow/scalar_line";
import { lengthOf } from "../../../model/recorded/run";
import { positionOf } from "../../../model/recorded/step_axis";
import type { Place } from "../../../state/compare";
import type { Around } from "../../view/view";

// `quantityIn`: the name of the quantity that was chosen; undefined: a scalar. Compared with another step of the same
// run, there is no other line.
export function followSeriesThere(
  { store, client, isShown }: Around,
  chosen: ReadonlySignal<string>,
  quantityIn: (chosen: string) => string | undefined,
  disposer: Disposer,
): ReadonlySignal<readonly ScalarSeries[]> {
  const series = signal<readonly ScalarSeries[]>([]);
  const { place, compare } = store;
  const choice = () => {
    const [id, places] = [chosen.value, compare.places.value];
    const isOther = places.some(({ run, tag }) => run !== place.run.value || tag !== place.tag.value);
    if (id === "" || !isOther) {
      series.value = [];
      return undefined;
    }
    const versions = places.map(({ run, tag, ref }) => [run.run, tag.tag, lengthOf(tag), ref.backwardPass].join("\n")).join("\n\n");
    return isShown.value ? ([id, versions] as const) : undefined;
  };
  const readOne = async (id: string, { run, tag, ref }: Place): Promise<readonly ScalarSeries[]> => {
    const name = quantityIn(id);
    if (name === undefined) {
      const reply = await readScalar(client, run.run, id);
      return reply.ok ? [reply.value] : [];
    }
    const reply = await client.quantities(run.run, tag.tag);
    const found = reply.ok ? reply.value.known.get(name) : undefined;
    if (found === undefined) return [];
    const { steps, values } = atPass(found, ref.backwardPass);
    return [{ tag: name, steps, values: Float64Array.from(values), isOfStep: true }];
  };
  disposer.add(
    followLatest(
      choice,
      async ([id]): Promise<Result<readonly ScalarSeries[]>> =>
        success((await Promise.all(compare.places.peek().map((one) => readOne(id, one)))).flat()),
      (reply) => (series.value = reply.ok ? reply.value : []),
    ),
  );
  return series;
}

// One line as it is, or the median of several with their range.
export function lineThere(series: readonly ScalarSeries[], steps: readonly number[]): LineThere | undefined {
  const [first] = series;
  if (first === undefined) return undefined;
  const placed = (at: readonly number[]): Float64Array => Float64Array.from(at, (step) => positionOf(steps, step));
  if (series.length === 1) return { series: first, positions: placed(first.steps), range: undefined };
  const { steps: at, median, low, high } = groupRange(series.map(({ steps, values }) => ({ steps, values: [...values] })));
  return { series: { ...first, steps: at, values: Float64Array.from(median) }, positions: placed(at), range: { low, high } };
}
