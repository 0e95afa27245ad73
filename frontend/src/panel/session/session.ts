// Fetches the data for the choices in the store, and puts it into the store.
//
// Answers that arrive too late for the present choice are dropped. What is shown stays until its
// replacement arrives, so that stepping does not flicker.

import { batch, effect, signal } from "@preact/signals";
import type { Client } from "../../api/client";
import { Disposer, type Dispose } from "../../base/disposer";
import { followLatest } from "../../base/follow_latest";
import { jointHash, joinWith } from "../../model/compare/joint";
import type { Graph } from "../../model/recorded/graph";
import { halfOf } from "../../model/recorded/record";
import {
  graphOwner,
  cadenceOf,
  distinctSteps,
  lastRecord,
  nearestRecord,
  nextRecord,
  standingAt,
  valuesBeside,
  type RecordRef,
} from "../../model/recorded/run";
import { buildHierarchy, turnedText, type Hierarchy } from "../../model/tree/hierarchy";
import { enterGraph, leaveGraph } from "../../state/actions";
import type { Address } from "../../state/address";
import { arrive, awaitRun, firstShown, tellStale } from "../../state/awaited";
import { keepFollowing } from "../../state/live_actions";
import type { Store } from "../../state/store";
import { followCompared } from "./follow_compared";
import { followFindings } from "./follow_findings";
import { followBadSteps, followMagnitudes } from "./follow_tag";
import { Loader } from "./loader";

export class Session {
  private readonly disposer = new Disposer();
  private readonly loader: Loader;
  private readonly joints = new WeakMap<Hierarchy, Hierarchy>(); // the last answer for each
  private readonly generation = signal(0);
  private wanted: Address | undefined;

  constructor(
    readonly store: Store,
    readonly client: Client,
  ) {
    this.loader = new Loader(client);
  }

  // `wanted` is what the address requests. Without it the last record is shown.
  async start(wanted: Address): Promise<void> {
    this.wanted = wanted;
    await this.reload();
    let shown = this.store.place.allSessions.peek();
    this.disposer.add(
      effect(() => {
        const wants = this.store.place.allSessions.value;
        if (wants !== shown) void this.reload();
        shown = wants;
      }),
    );
    this.disposer.add(
      effect(() => {
        if (this.store.place.run.value === undefined || this.store.place.hash.value === undefined) leaveGraph(this.store);
      }),
    );
    this.disposer.add(
      effect(() => {
        if (this.store.compare.place.value?.read === undefined) this.store.compare.others.value = undefined;
      }),
    );
    this.disposer.add(this.followGraph());
    this.disposer.add(this.followRecord());
    this.disposer.add(this.followBeside());
    for (const follow of [followMagnitudes, followBadSteps, followFindings]) this.disposer.add(follow(this.store, this.client));
    this.disposer.add(followCompared(this.store, this.loader));
    this.disposer.add(keepFollowing(this.store));
    // One thing is chosen at a time: a box or a line.
    this.disposer.add(
      effect(() => {
        if (this.store.shown.selected.value !== undefined) this.store.shown.edge.value = undefined;
      }),
    );
  }

  readonly close: Dispose = () => this.disposer.dispose();

  // Reads new records; returns whether there was an answer. The shown record stays, unless the latest is followed.
  async reload(): Promise<boolean> {
    const { store } = this;
    const reply = await this.client.runs(store.place.allSessions.peek());
    if (!reply.ok) {
      // A failed refresh does not remove what is on the screen.
      if (store.recorded.runs.peek().length === 0) store.shown.phase.value = { kind: "error", sentence: reply.error };
      else store.shown.notice.value = reply.error;
      return false;
    }
    const before = store.place.tag.peek()?.records ?? [];
    const standing = standingAt(before, store.place.ref.peek(), store.place.stage.peek());
    batch(() => {
      store.recorded.runs.value = reply.value;
      store.shown.phase.value = { kind: "ready" };
      const arrived = arrive(store);
      const records = store.place.tag.value?.records ?? [];
      if (arrived) store.live.unseen.value = 0;
      else if (store.live.follow.peek()) store.place.recordIndex.value = lastRecord(records, store.place.stage.peek());
      else if (standing === undefined) store.place.recordIndex.value = firstShown(records, this.wanted, store.place.stage.peek());
      else store.place.recordIndex.value = nearestRecord(records, standing.step, standing.backwardPass, standing.stage);
      if (standing !== undefined && !arrived) this.tellNews(before, records);
      this.generation.value++;
      this.tellMissing(standing === undefined);
    });
    return true;
  }

  private tellNews(before: readonly RecordRef[], now: readonly RecordRef[]): void {
    const { store } = this;
    store.live.unseen.value += Math.max(0, distinctSteps(now).length - distinctSteps(before).length);
    const [was, is] = [cadenceOf(before), cadenceOf(now)];
    if (was !== 0 && is !== 0 && was !== is)
      store.shown.notice.value = `A step is now recorded every ${is} steps; before it was every ${was}.`;
  }

  // A link may name a run or tag that does not exist here. Then a notice says what is shown instead.
  private tellMissing(first: boolean): void {
    const { runName, run, tagName, tag } = this.store.place;
    const { notice } = this.store.shown;
    if (first && awaitRun(this.store, this.wanted)) return;
    if (first && !this.store.live.follow.peek()) tellStale(this.store, this.wanted?.step);
    if (runName.value !== undefined && run.value !== undefined && run.value.run !== runName.value) {
      notice.value = `There is no run "${runName.value}" here; "${run.value.run}" is shown instead.`;
      runName.value = run.value.run;
    } else if (tagName.value !== undefined && tag.value !== undefined && tag.value.tag !== tagName.value) {
      notice.value = `Run "${run.value?.run}" has no graph "${tagName.value}"; "${tag.value.tag}" is shown instead.`;
      tagName.value = tag.value.tag;
    }
  }

  // Tries everything again after an error.
  async retry(): Promise<void> {
    this.loader.forgetGraphs();
    this.store.shown.phase.value = { kind: "loading" };
    await this.reload();
  }

  private fail(sentence: string): void {
    batch(() => {
      this.store.live.playing.value = false;
      this.store.shown.phase.value = { kind: "error", sentence };
    });
  }

  private followGraph(): Dispose {
    const { store } = this;
    let owner: string | undefined;
    const choice = () => {
      const [run, hash, turned] = [store.place.run.value?.run, store.place.hash.value, turnedText(store.graph.turned.value)];
      const there = store.compare.choice.value && store.compare.hierarchy.value?.graph;
      const shown = store.recorded.hierarchy.peek();
      const generation = this.generation.value;
      if (run === undefined || hash === undefined) return undefined;
      if (
        shown?.graph.hash === hash &&
        owner === graphOwner(run) &&
        shown.turned === turned &&
        shown.graph.joint === jointHash(shown.graph, there)
      )
        return undefined;
      return [run, hash, turned, there, generation] as const;
    };
    return followLatest(
      choice,
      ([run, hash]) => this.loader.loadGraph(run, hash, store.graph.turned.peek()),
      (reply, [run, , , there]) => {
        if (!reply.ok) return this.fail(reply.error);
        owner = graphOwner(run);
        batch(() => {
          enterGraph(store, this.jointWith(reply.value, there));
          store.shown.phase.value = { kind: "ready" };
        });
      },
    );
  }

  // Adds the nodes that only the other graph has, if `there` is given.
  private jointWith(hierarchy: Hierarchy, there: Graph | undefined): Hierarchy {
    if (there === undefined || jointHash(hierarchy.graph, there) === "") return hierarchy;
    const known = this.joints.get(hierarchy);
    if (known?.graph.joint === there.hash) return known;
    const joint = buildHierarchy(joinWith(hierarchy.graph, there), this.store.graph.turned.peek());
    this.joints.set(hierarchy, joint);
    return joint;
  }

  private followRecord(): Dispose {
    const { place, recorded } = this.store;
    const choice = () => {
      const [run, tag, ref] = [place.run.value?.run, place.tag.value, place.read.value];
      return run === undefined || tag === undefined || ref === undefined ? undefined : ([run, tag, ref] as const);
    };
    return followLatest(
      choice,
      ([run, tag, ref]) => this.loader.loadRecord(run, tag.tag, ref),
      (reply, [run, tag, ref]) => {
        if (!reply.ok) return this.fail(reply.error);
        recorded.record.value = reply.value;
        const next = nextRecord(tag.records, place.ref.peek() ?? ref);
        if (next !== undefined) void this.loader.loadRecord(run, tag.tag, (halfOf(ref.stage) === "value" && valuesBeside(next)) || next);
      },
    );
  }

  // The other half of the step, for the cards.
  private followBeside(): Dispose {
    const { place, recorded, shown } = this.store;
    const choice = () => {
      const [run, tag, ref, read] = [place.run.value?.run, place.tag.value?.tag, place.ref.value, place.read.value];
      if (run === undefined || tag === undefined || ref === undefined) return undefined;
      if (shown.selected.value === undefined && shown.edge.value === undefined) return undefined;
      const beside = read === ref ? valuesBeside(ref) : ref;
      if (beside === undefined) recorded.beside.value = undefined;
      return beside && ([run, tag, beside] as const);
    };
    return followLatest(
      choice,
      ([run, tag, beside]) => this.loader.loadRecord(run, tag, beside),
      (reply) => (recorded.beside.value = reply.ok ? reply.value : undefined),
    );
  }
}
