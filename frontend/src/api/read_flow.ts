// Fetches the data of the heat map, page after page, for each column of the statistic.

import { failure, success, type Result } from "../base/result";
import type { FlowNumbers } from "../model/flow/flow";
import type { ScalarSeries } from "../model/flow/scalar_line";
import type { Client } from "./client";
import type { FlowHeader } from "./contract";
import type { Frame } from "./frame";

export interface FlowQuery {
  readonly run: string;
  readonly tag: string;
  readonly hash: string;
  readonly stage: string;
  readonly backwardPass: number;
  readonly every: number;
  readonly columns: readonly string[];
}

// One page of one column.
interface Page {
  readonly steps: readonly number[];
  readonly slots: number;
  readonly total: number;
  readonly values: Float32Array;
  readonly arrived: Uint8Array;
}

// Columns of the heat map, beginning at the `from`-th one.
export async function readFlow(client: Client, query: FlowQuery, from = 0): Promise<Result<FlowNumbers>> {
  const parts = await Promise.all(query.columns.map((statistic) => readColumn(client, query, statistic, from)));
  const failed = parts.find((part) => !part.ok);
  if (failed !== undefined && !failed.ok) return failed;
  const columns = parts.flatMap((part) => (part.ok ? [part.value] : []));
  const [first] = columns;
  if (first === undefined || columns.some(({ steps }) => steps.length !== first.steps.length))
    return failure("flow: steps were added while it was read.");
  return success({ steps: first.steps, slots: first.slots, values: columns.map(({ values }) => values), arrived: first.arrived });
}

async function readColumn(client: Client, query: FlowQuery, statistic: string, start: number): Promise<Result<Page>> {
  const pages: Page[] = [];
  for (let from = start; ;) {
    const page = await readPage(client, query, statistic, from);
    if (!page.ok) return page;
    pages.push(page.value);
    from += page.value.steps.length;
    if (from >= page.value.total || page.value.steps.length === 0) return success(joined(pages));
  }
}

async function readPage(client: Client, query: FlowQuery, statistic: string, from: number): Promise<Result<Page>> {
  const { run, tag, hash, stage, backwardPass, every } = query;
  const reply = await client.frame("flow", { run, tag, hash, statistic, stage, backward_pass: backwardPass, every, from });
  return reply.ok ? parsePage(reply.value) : reply;
}

export function parsePage({ header, arrays }: Frame<FlowHeader>): Result<Page> {
  const { steps, slots, total } = header;
  const [values, arrived] = [arrays.get("values"), arrays.get("arrived")];
  const expected = steps.length * slots;
  if (!(values instanceof Float32Array) || values.length !== expected)
    return failure(`flow: expected ${expected} values, got ${values?.length ?? "none"}.`);
  if (!(arrived instanceof Uint8Array) || arrived.length !== expected)
    return failure(`flow: expected ${expected} marks, got ${arrived?.length ?? "none"}.`);
  return success({ steps, slots, total, values, arrived });
}

function joined(pages: readonly Page[]): Page {
  const first = pages[0]!;
  if (pages.length === 1) return first;
  const length = pages.reduce((sum, { values }) => sum + values.length, 0);
  const [values, arrived] = [new Float32Array(length), new Uint8Array(length)];
  let at = 0;
  for (const page of pages) {
    values.set(page.values, at);
    arrived.set(page.arrived, at);
    at += page.values.length;
  }
  return { ...first, steps: pages.flatMap(({ steps }) => steps), values, arrived };
}

export async function listScalars(client: Client, run: string): Promise<Result<readonly string[]>> {
  const reply = await client.json("scalars", { run });
  return reply.ok ? success(reply.value.tags) : reply;
}

export async function readScalar(client: Client, run: string, tag: string): Promise<Result<ScalarSeries>> {
  const reply = await client.frame("scalar", { run, tag });
  if (!reply.ok) return reply;
  const { steps } = reply.value.header;
  const values = reply.value.arrays.get("values");
  if (!(values instanceof Float64Array) || values.length !== steps.length) return failure(`scalar: expected ${steps.length} values.`);
  return success({ tag, steps, values });
}
