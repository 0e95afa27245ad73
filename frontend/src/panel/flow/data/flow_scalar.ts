// The line above the heat map: the scalars and numbers of the step that can be drawn, and the chosen one.

import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { listScalars, readScalar } from "../../../api/read_flow";
import type { Disposer } from "../../../base/disposer";
import { followLatest } from "../../../base/follow_latest";
import type { ScalarLine } from "../../../draw/flow/paint_scalar";
import {
  atPass,
  LOSS,
  lossTag,
  NO_QUANTITIES,
  valueScale,
  type Quantities,
  type Quantity,
  type ScalarSeries,
} from "../../../model/flow/scalar_line";
import { positionOf } from "../../../model/recorded/step_axis";
import type { Around } from "../../view/view";
import { followSeriesThere, lineThere } from "./flow_scalar_there";
import type { FlowState } from "./flow_state";

export interface Scalar {
  readonly tags: Signal<readonly string[]>; // scalars of the run
  readonly quantities: Signal<Quantities>; // numbers of the step that the tag of the graph has
  readonly chosen: ReadonlySignal<string>; // a scalar's tag, or a quantity (ofStep); "": no line
  readonly line: ReadonlySignal<ScalarLine | undefined>;
}

export function createScalar(
  around: Around,
  { scalarTag }: FlowState,
  steps: ReadonlySignal<readonly number[]>,
  disposer: Disposer,
): Scalar {
  const { store, client, isShown } = around;
  const tags = signal<readonly string[]>([]);
  const quantities = signal(NO_QUANTITIES);
  const logged = signal<ScalarSeries | undefined>(undefined);
  const chosen = computed(() => {
    const wanted = scalarTag.value;
    const known = wanted === "" || tags.value.includes(wanted ?? "") || (wanted !== undefined && quantityNamed(quantities.value, wanted));
    return (known ? wanted : undefined) ?? lossTag(tags.value) ?? (quantities.value.known.has(LOSS) ? ofStep(LOSS) : "");
  });
  const series = computed((): ScalarSeries | undefined => {
    const id = chosen.value;
    if (tags.value.includes(id)) return logged.value?.tag === id ? logged.value : undefined;
    const found = quantityNamed(quantities.value, id);
    if (found === undefined) return undefined;
    const { steps: at, values } = atPass(found, store.place.ref.value?.backwardPass ?? 0);
    return { tag: id.slice(OF_STEP.length), steps: at, values: Float64Array.from(values), isOfStep: true };
  });
  const seriesThere = followSeriesThere(around, chosen, (id) => (tags.value.includes(id) ? undefined : nameOfStep(id)), disposer);
  const line = computed((): ScalarLine | undefined => {
    const known = series.value;
    if (known === undefined || steps.value.length === 0) return undefined;
    const there = lineThere(seriesThere.value, steps.value);
    const { low = [], high = [] } = there?.range ?? {};
    return {
      series: known,
      positions: Float64Array.from(known.steps, (step) => positionOf(steps.value, step)),
      scale: valueScale([...known.values, ...(there?.series.values ?? []), ...low, ...high]),
      there,
    };
  });
  disposer.add(
    followLatest(
      () => {
        const run = store.place.run.value;
        return isShown.value && run !== undefined ? ([run] as const) : undefined;
      },
      ([{ run }]) => listScalars(client, run),
      (reply) => {
        const found = reply.ok ? reply.value : [];
        // Setting an equal list would remove the line and draw it again.
        if (found.join("\n") !== tags.peek().join("\n")) tags.value = found;
      },
    ),
  );
  disposer.add(
    followLatest(
      () => {
        // The tag of the graph is a new object after the runs were read again. The scalar may have grown too.
        const [run, records] = [store.place.run.value, store.place.tag.value];
        return isShown.value && run !== undefined && records !== undefined && tags.value.includes(chosen.value)
          ? ([run.run, chosen.value, records] as const)
          : undefined;
      },
      ([run, name]) => readScalar(client, run, name),
      (reply) => (logged.value = reply.ok ? reply.value : undefined),
    ),
  );
  disposer.add(
    followLatest(
      () => {
        const [run, tag] = [store.place.run.value?.run, store.place.tag.value];
        return isShown.value && run !== undefined && tag !== undefined ? ([run, tag] as const) : undefined;
      },
      ([run, { tag }]) => client.quantities(run, tag),
      (reply) => (quantities.value = reply.ok ? reply.value : NO_QUANTITIES),
    ),
  );
  return { tags, quantities, chosen, line };
}

const OF_STEP = "step:";

// The choice of a quantity, beside those of scalars.
export function ofStep(name: string): string {
  return OF_STEP + name;
}

function nameOfStep(chosen: string): string | undefined {
  return chosen.startsWith(OF_STEP) ? chosen.slice(OF_STEP.length) : undefined;
}

function quantityNamed(quantities: Quantities, chosen: string): Quantity | undefined {
  const name = nameOfStep(chosen);
  return name === undefined ? undefined : quantities.known.get(name);
}
