// Fetches what the store's choices ask for, and puts it into the store.
//
// Answers that come too late for the present choice are dropped, and what is
// shown stays until its successor is there, so stepping never blinks.

import { batch, effect, signal } from "@preact/signals";
import type { Client } from "../../api/client";
import { Disposer, type Dispose } from "../../base/disposer";
import { success, type Result } from "../../base/result";
import { buildWithPauses } from "../../model/tree/building";
import { buildHierarchy, turnedText, type Hierarchy } from "../../model/tree/hierarchy";
import type { Graph } from "../../model/recorded/graph";
import { around } from "../../model/recorded/magnitudes";
import { jointHash, joinWith } from "../../model/compare/joint";
import { bytesOf, type RecordedStep } from "../../model/recorded/record";
import { cadenceOf, distinctSteps, lastRecord, nearestRecord, nextRecord, standingAt, type RecordRef } from "../../model/recorded/run";
import { enterGraph, leaveGraph } from "../../state/actions";
import type { Address } from "../../state/address";
import { arrive, awaitRun, firstShown } from "../../state/awaited";
import { keepFollowing } from "../../state/live_actions";
import type { Store } from "../../state/store";
import { followCompared } from "./comparing";

const KEPT_GRAPHS = 4;
const KEPT_BYTES = 96 * 2 ** 20;

export class Session {
  private readonly disposer = new Disposer();
  private readonly graphs = new Map<string, Promise<Result<Hierarchy>>>();
  private readonly records = new Map<string, RecordedStep>();
  private readonly joints = new WeakMap<Hierarchy, Hierarchy>(); // the last one of each
  private readonly generation = signal(0);
  private wanted: Address | undefined;

  constructor(readonly store: Store, readonly client: Client) {}

  // `wanted` is what the address asks for; without it the last record is shown.
  async start(wanted: Address): Promise<void> {
    this.wanted = wanted;
    await this.reload();
    let shown = this.store.allSessions.peek();
    this.disposer.add(effect(() => {
      const wants = this.store.allSessions.value;
      if (wants !== shown) void this.reload();
      shown = wants;
    }));
    this.disposer.add(effect(() => this.followGraph()));
    this.disposer.add(effect(() => this.followRecord()));
    this.disposer.add(effect(() => this.followMagnitudes()));
    this.disposer.add(effect(() => this.followBadSteps()));
    this.disposer.add(followCompared(this));
    this.disposer.add(keepFollowing(this.store));
    // One thing is chosen at a time: a box or a line.
    this.disposer.add(effect(() => {
      if (this.store.selected.value !== undefined) this.store.edge.value = undefined;
    }));
  }

  readonly close: Dispose = () => this.disposer.dispose();

  // New records appear. What is shown stays what it was, unless the latest is followed. Tells whether there was an answer.
  async reload(): Promise<boolean> {
    const { store } = this;
    const reply = await this.client.runs(store.allSessions.peek());
    if (!reply.ok) {
      // A failed refresh does not take away what is on the screen.
      if (store.runs.peek().length === 0) store.phase.value = { kind: "error", sentence: reply.error };
      else store.notice.value = reply.error;
      return false;
    }
    const before = store.tag.peek()?.records ?? [];
    const standing = standingAt(before, store.ref.peek(), store.stage.peek());
    batch(() => {
      store.runs.value = reply.value;
      store.phase.value = { kind: "ready" };
      const arrived = arrive(store);
      const records = store.tag.value?.records ?? [];
      if (arrived) store.unseen.value = 0;
      else if (store.follow.peek()) store.recordIndex.value = lastRecord(records, store.stage.peek());
      else if (standing === undefined) store.recordIndex.value = firstShown(records, this.wanted, store.stage.peek());
      else store.recordIndex.value = nearestRecord(records, standing.step, standing.backwardPass, standing.stage);
      if (standing !== undefined && !arrived) this.tellNews(before, records);
      this.generation.value++;
      this.tellMissing(standing === undefined);
    });
    return true;
  }

  private tellNews(before: readonly RecordRef[], now: readonly RecordRef[]): void {
    const { store } = this;
    store.unseen.value += Math.max(0, distinctSteps(now).length - distinctSteps(before).length);
    const [was, is] = [cadenceOf(before), cadenceOf(now)];
    if (was !== 0 && is !== 0 && was !== is) store.notice.value = `Steps are now recorded every ${is} steps; it was every ${was}.`;
  }

  // A link may name a run or tag that is not here: what is shown instead is said.
  private tellMissing(first: boolean): void {
    const { runName, run, tagName, tag, notice } = this.store;
    if (first && awaitRun(this.store, this.wanted)) return;
    if (runName.value !== undefined && run.value !== undefined && run.value.run !== runName.value) {
      notice.value = `There is no run "${runName.value}" here; "${run.value.run}" is shown.`;
      runName.value = run.value.run;
    } else if (tagName.value !== undefined && tag.value !== undefined && tag.value.tag !== tagName.value) {
      notice.value = `Run "${run.value?.run}" has no graph "${tagName.value}"; "${tag.value.tag}" is shown.`;
      tagName.value = tag.value.tag;
    }
  }

  // Tries everything again after an error.
  async retry(): Promise<void> {
    this.graphs.clear();
    this.store.phase.value = { kind: "loading" };
    await this.reload();
  }

  private fail(sentence: string): void {
    batch(() => {
      this.store.playing.value = false;
      this.store.phase.value = { kind: "error", sentence };
    });
  }

  private followGraph(): void {
    const run = this.store.run.value?.run;
    const hash = this.store.hash.value;
    this.generation.value;
    if (run === undefined || hash === undefined) return leaveGraph(this.store);
    const turned = turnedText(this.store.turned.value);
    const there = this.store.compare.choice.value && this.store.compare.hierarchy.value?.graph;
    const shown = this.store.hierarchy.peek();
    if (shown?.graph.hash === hash && shown.turned === turned && shown.graph.joint === jointHash(shown.graph, there)) return;
    void this.loadGraph(run, hash).then((reply) => {
      const { store } = this;
      if (store.run.peek()?.run !== run || store.hash.peek() !== hash || turnedText(store.turned.peek()) !== turned) return;
      if ((store.compare.choice.peek() && store.compare.hierarchy.peek()?.graph) !== there) return;
      if (!reply.ok) return this.fail(reply.error);
      batch(() => {
        enterGraph(store, this.jointWith(reply.value, there));
        store.phase.value = { kind: "ready" };
      });
    });
  }

  // With what only the compared graph has, as long as that is asked for.
  private jointWith(hierarchy: Hierarchy, there: Graph | undefined): Hierarchy {
    if (there === undefined || jointHash(hierarchy.graph, there) === "") return hierarchy;
    const known = this.joints.get(hierarchy);
    if (known?.graph.joint === there.hash) return known;
    const joint = buildHierarchy(joinWith(hierarchy.graph, there), this.store.turned.peek());
    this.joints.set(hierarchy, joint);
    return joint;
  }

  loadGraph(run: string, hash: string): Promise<Result<Hierarchy>> {
    // The hash is of the structure, so runs with the same one share it.
    const turned = this.store.turned.peek();
    const key = `${hash}\n${turnedText(turned)}`;
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

  private followRecord(): void {
    const run = this.store.run.value?.run;
    const tag = this.store.tag.value;
    const ref = this.store.ref.value;
    this.generation.value;
    if (run === undefined || tag === undefined || ref === undefined) return;
    void this.loadRecord(run, tag.tag, ref).then((reply) => {
      if (this.store.ref.peek() !== ref || this.store.run.peek()?.run !== run) return;
      if (!reply.ok) return this.fail(reply.error);
      this.store.record.value = reply.value;
      this.prefetch(run, tag.tag, nextRecord(tag.records, ref));
    });
  }

  private prefetch(run: string, tag: string, ref: RecordRef | undefined): void {
    if (ref !== undefined) void this.loadRecord(run, tag, ref);
  }

  async loadRecord(run: string, tag: string, ref: RecordRef): Promise<Result<RecordedStep>> {
    // With the wall time, a step that was recorded anew after a restart is another one.
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

  private followMagnitudes(): void {
    const run = this.store.run.value?.run;
    const tag = this.store.tag.value?.tag;
    // Any graph of the tag leads to them; they are one for all.
    const hash = this.store.tag.value?.hashes[0];
    const statistic = this.store.statistic.value;
    this.generation.value;
    if (run === undefined || tag === undefined || hash === undefined) return;
    const columns = statistic.columns;
    void Promise.all(columns.map((column) => this.client.magnitudes(run, tag, hash, column))).then((replies) => {
      const { store } = this;
      if (store.statistic.peek() !== statistic || store.run.peek()?.run !== run || store.tag.peek()?.tag !== tag) return;
      const known = replies.flatMap((reply) => (reply.ok && reply.value !== undefined ? [reply.value] : []));
      store.magnitudes.value = known.length === 0 ? undefined : {
        domain: around(known.map(({ domain }) => domain)),
        fences: around(known.map(({ fences }) => fences)),
      };
    });
  }

  private followBadSteps(): void {
    const run = this.store.run.value?.run;
    const tag = this.store.tag.value;
    this.generation.value;
    if (run === undefined || tag === undefined) return;
    void this.client.nonfiniteSteps(run, tag.tag, tag.hashes).then((reply) => {
      const { store } = this;
      if (store.run.peek()?.run !== run || store.tag.peek() !== tag) return;
      store.badSteps.value = reply.ok ? reply.value : new Map();
    });
  }
}
