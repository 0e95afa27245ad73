// Both halves of the step for the cards: the record of gradients, and that of values.

import type { Graph } from "../../../model/recorded/graph";
import { currentRecord, halfOf, type RecordedStep } from "../../../model/recorded/record";
import type { Store } from "../../../state/store";

export interface Halves {
  readonly gradient: RecordedStep | undefined;
  readonly value: RecordedStep | undefined;
  readonly both: boolean; // values were recorded; one of the two may still be loading
}

export function halvesOf({ recorded, place }: Store, graph: Graph): Halves {
  const shown = currentRecord(recorded.record.value, graph);
  const other = currentRecord(recorded.beside.value, graph);
  // While the next step is loading, they may be of different steps.
  const fits = other?.step === shown?.step && other?.backwardPass === shown?.backwardPass && halfOf(other?.stage) !== halfOf(shown?.stage);
  const beside = fits ? other : undefined;
  const both = place.ref.value?.hasValues === true;
  return halfOf(shown?.stage) === "value" ? { gradient: beside, value: shown, both } : { gradient: shown, value: beside, both };
}
