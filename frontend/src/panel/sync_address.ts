// Keeps the store and the address the same, in both directions.

import { batch, effect } from "@preact/signals";
import { Disposer, type Dispose } from "../base/disposer";
import { DEFAULT_RAMP, rampNamed } from "../draw/style/ramp_names";
import { goToStep, moveSteps, reveal } from "../state/actions";
import { formatAddress, parseAddress, PREFIX, readValues, type Address } from "../state/address";
import { applyPlace, awaitRun, tellStale } from "../state/awaited";
import { applyVersus } from "../state/compare";
import { takeLinked } from "../state/findings_state";
import { setStatistic, type Store } from "../state/store";
import { readHash, watchHash, writeHash } from "./session/host";
import { addressOf } from "./session/shown_address";
import { kept } from "./controls/kept";
import type { Views } from "./view/views";

const SETTLED_MS = 250;

// Applies everything that does not need the runs; returns the step for the session.
export function applyAddress(store: Store, views: Views): Address {
  const hash = readHash();
  const address = parseAddress(hash);
  batch(() => {
    views.readLink(address.view, readValues(hash));
    store.look.scrollZooms.value = kept("scroll") === "zooms";
    applyLook(store, address);
    applyPlace(store, address);
    takeLinked(store.findings, address.purpose ?? []);
  });
  return address;
}

function applyLook(store: Store, address: Address): void {
  batch(() => {
    store.look.ramp.value = rampNamed(address.colors) ?? rampNamed(kept("colors")) ?? DEFAULT_RAMP;
    store.live.follow.value = address.follow ?? false;
    store.place.allSessions.value = address.sessions ?? false;
    if (address.stat !== undefined) setStatistic(store, address.stat);
    if (address.dir !== undefined) store.place.direction.value = address.dir;
    applyVersus(store.compare, address.vs);
  });
}

// Writes only after changes have stopped, because playing would otherwise write many times a second.
export function syncAddress(store: Store, views: Views): Dispose {
  const disposer = new Disposer();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let written = "";
  disposer.add(
    effect(() => {
      const [address, ofViews] = [addressOf(store), views.writeLink()];
      if (address.run === undefined) return;
      clearTimeout(timer);
      timer = setTimeout(() => {
        written = formatAddress(readHash(), address, ofViews);
        writeHash(written);
      }, SETTLED_MS);
    }),
  );
  disposer.add(() => clearTimeout(timer));
  disposer.add(
    watchHash(() => {
      const hash = readHash().replace(/^#/, "");
      if (hash === written) return;
      // After a visit to another tab of TensorBoard, our keys are missing in the address, so they are written again.
      if (!hash.includes(PREFIX)) {
        if (hash.startsWith("gradgraph")) writeHash((written = formatAddress(hash, addressOf(store), views.writeLink())));
        return;
      }
      const before = store.place.tag.peek();
      const address = parseAddress(hash);
      const { step, pass, sel } = address;
      batch(() => {
        views.readLink(address.view, readValues(hash));
        applyLook(store, address);
      });
      if (awaitRun(store, address)) return;
      applyPlace(store, address);
      takeLinked(store.findings, address.purpose ?? []);
      if (store.live.follow.peek()) moveSteps(store, Infinity);
      else if (step !== undefined) {
        goToStep(store, step, pass);
        tellStale(store, step);
      } else if (store.place.tag.peek() !== before) moveSteps(store, Infinity);
      // If the graph is still loading, it reveals the selection when it arrives.
      if (sel !== undefined && store.recorded.hierarchy.peek()?.graph.hash === store.place.hash.peek()) reveal(store, sel);
    }),
  );
  return () => disposer.dispose();
}
