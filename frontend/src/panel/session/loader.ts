// Fetches and caches graphs and records.

import type { Client } from "../../api/client";
import { success, type Result } from "../../base/result";
import { bytesOf, type RecordedStep } from "../../model/recorded/record";
import { graphOwner, type RecordRef } from "../../model/recorded/run";
import { buildWithPauses } from "../../model/tree/building";
import { turnedText, type Hierarchy } from "../../model/tree/hierarchy";

const KEPT_GRAPHS = 4;
const KEPT_BYTES = 96 * 2 ** 20;

export class Loader {
  private readonly graphs = new Map<string, Promise<Result<Hierarchy>>>();
  private readonly records = new Map<string, RecordedStep>();

  constructor(private readonly client: Client) {}

  forgetGraphs(): void {
    this.graphs.clear();
  }

  // `turned` as in the store.
  loadGraph(run: string, hash: string, turned: ReadonlySet<string>): Promise<Result<Hierarchy>> {
    // The hash is of the structure, so runs with the same structure share the graph.
    const key = [hash, turnedText(turned), graphOwner(run)].join("\n");
    const known = this.graphs.get(key);
    if (known !== undefined) return known;
    const loading = this.client.graph(run, hash).then((reply) => {
      if (reply.ok) return buildWithPauses(reply.value, turned).then(success);
      this.graphs.delete(key);
      return reply;
    });
    this.graphs.set(key, loading);
    const oldest = this.graphs.keys().next().value;
    if (this.graphs.size > KEPT_GRAPHS && oldest !== undefined) this.graphs.delete(oldest);
    return loading;
  }

  async loadRecord(run: string, tag: string, ref: RecordRef): Promise<Result<RecordedStep>> {
    // The key includes the wall time, so that a step that was recorded again after a restart is a different one.
    const key = [run, tag, ref.step, ref.backwardPass, ref.stage, ref.wallTime].join("\n");
    const known = this.records.get(key);
    if (known !== undefined) return success(known);
    const reply = await this.client.step(run, tag, ref);
    if (reply.ok) this.keep(key, reply.value);
    return reply;
  }

  private keep(key: string, record: RecordedStep): void {
    this.records.set(key, record);
    const each = Math.max(1, bytesOf(record));
    for (const oldest of this.records.keys()) {
      if (this.records.size * each <= KEPT_BYTES || this.records.size <= 2) break;
      this.records.delete(oldest);
    }
  }
}
