// The numbers of a heat map: of a run that grew only the new columns are fetched.

import type { Signal } from "@preact/signals";
import type { Client } from "../../api/client";
import { readFlow, type FlowQuery } from "../../api/read_flow";
import { success, type Result } from "../../base/result";
import type { Flow, FlowNumbers } from "../../model/flow/flow";
import { intactColumns, joinColumns } from "../../model/flow/flow_growth";
import type { RecordRef } from "../../model/recorded/run";

interface Kept {
  readonly query: string;
  readonly records: readonly RecordRef[];
  readonly numbers: FlowNumbers;
}

// The numbers that each heat map was last drawn from: of a run that grew only its new columns are asked for.
const kept = new WeakMap<Signal<Flow | undefined>, Kept>();

export async function readNew(client: Client, query: FlowQuery, flow: Signal<Flow | undefined>, records: readonly RecordRef[]): Promise<Result<FlowNumbers>> {
  const known = kept.get(flow);
  const same = known !== undefined && known.query === JSON.stringify(query);
  if (same && known.records === records) return success(known.numbers);
  const intact = same ? intactColumns(known.numbers.steps, known.records, records) : 0;
  const reply = await readFlow(client, query, intact);
  if (!reply.ok) return reply;
  const numbers = same && known.numbers.slots === reply.value.slots ? joinColumns(known.numbers, intact, reply.value) : reply.value;
  kept.set(flow, { query: JSON.stringify(query), records, numbers });
  return success(numbers);
}
