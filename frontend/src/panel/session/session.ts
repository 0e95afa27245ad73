// Fetches what the store's choices ask for, and puts it into the store.
//
// Answers that come too late for the present choice are dropped, and what is
// shown stays until its successor is there, so stepping never blinks.

import { batch, effect, signal } from "@preact/signals";
import type { Client } from "../../api/client";
import { Disposer, type Dispose } from "../../base/disposer";
import { jointHash, joinWith } from "../../model/compare/joint";
import type { Graph } from "../../model/recorded/graph";
import { cadenceOf, distinctSteps, lastRecord, nearestRecord, nextRecord, standingAt, type RecordRef } from "../../model/recorded/run";
import { around } from "../../model/recorded/statistics";
import { buildHierarchy, turnedText, type Hierarchy } from "../../model/tree/hierarchy";
import { enterGraph, leaveGraph } from "../../state/actions";
import type { Address } from "../../state/address";
import { arrive, awaitRun, firstShown } from "../../state/awaited";
import type { Place } from "../../state/compare";
import { keepFollowing } from "../../state/live_actions";
import type { Store } from "../../state/store";
import { Loader } from "./loader";

export class Session {
  private readonly disposer = new Disposer();
  private readonly loader: Loader;
  private readonly joints = new WeakMap<Hierarchy, Hierarchy>(); // the last one of each
  private readonly generation = signal(0);
  private wanted: Address | undefined;

  constructor(readonly store: Store, readonly client: Client) {
    this.loader = new Loader(client);
  }

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
    this.disposer.add(effect(() => void this.followCompared(this.store.compare.place.value)));
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
    this.loader.forgetGraphs();
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
    void this.loader.loadGraph(run, hash, this.store.turned.peek()).then((reply) => {
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

  private followRecord(): void {
    const run = this.store.run.value?.run;
    const tag = this.store.tag.value;
    const ref = this.store.ref.value;
    this.generation.value;
    if (run === undefined || tag === undefined || ref === undefined) return;
    void this.loader.loadRecord(run, tag.tag, ref).then((reply) => {
      if (this.store.ref.peek() !== ref || this.store.run.peek()?.run !== run) return;
      if (!reply.ok) return this.fail(reply.error);
      this.store.record.value = reply.value;
      this.prefetch(run, tag.tag, nextRecord(tag.records, ref));
    });
  }

  private prefetch(run: string, tag: string, ref: RecordRef | undefined): void {
    if (ref !== undefined) void this.loader.loadRecord(run, tag, ref);
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

  // The other side: what was fetched last stays until its successor is there, as for the shown record.
  private async followCompared(place: Place | undefined): Promise<void> {
    const { compare, notice, turned } = this.store;
    if (place === undefined) {
      compare.other.value = undefined;
      return;
    }
    const { run, tag, ref } = place;
    // A step on the other side does not change what it is compared with.
    if (compare.other.peek()?.place.ref === ref) return;
    const [graph, record] = await Promise.all([
      this.loader.loadGraph(run.run, ref.hash, turned.peek()), this.loader.loadRecord(run.run, tag.tag, ref),
    ]);
    if (compare.place.peek() !== place) return;
    batch(() => {
      if (graph.ok && record.ok) compare.other.value = { place, hierarchy: graph.value, record: record.value };
      else if (!graph.ok) notice.value = graph.error;
      else if (!record.ok) notice.value = record.error;
    });
  }
}
