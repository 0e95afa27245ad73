// Keeps the store and the address the same, in both directions.

import { batch, effect } from "@preact/signals";
import { Disposer, type Dispose } from "../base/disposer";
import { formatAddress, parseAddress, PREFIX, readValues, type Address } from "../state/address";
import { applyPlace } from "../state/awaited";
import { takeLinked } from "../state/findings_state";
import type { Store } from "../state/store";
import { readHash, watchHash, writeHash } from "./session/host";
import { addressOf } from "./session/shown_address";
import { kept } from "./controls/kept";
import { applyLook, followLink, takeMarks } from "./view/follow_link";
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
    takeMarks(store, address);
  });
  return address;
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
      followLink(store, views, hash);
    }),
  );
  return () => disposer.dispose();
}
