// Defines a view: one object for each view, with everything that the panel needs from it. Only the
// list of views names views.

import type { ReadonlySignal } from "@preact/signals";
import type { ComponentType, JSX } from "preact";
import type { Client } from "../../api/client";
import type { Dispose } from "../../base/disposer";
import type { Hierarchy } from "../../model/tree/hierarchy";
import type { LinkEntry } from "../../state/address";
import type { Store } from "../../state/store";
import type { Fact } from "../../state/story";
import type { Deferred } from "../controls/deferred";
import type { Painted } from "../picture/picture";
import type { Drawing } from "../session/drawing";

// Lines of the help: a key or a symbol, and what it does or means.
export type Entries = readonly (readonly [string, string])[];

export interface View {
  readonly id: string; // in links
  readonly text: string; // on its button
  readonly title: string;
  readonly key?: string; // the key that opens it; if views share a key, it opens the first other one
  readonly hasCard: boolean; // the card of what is selected is beside it
  readonly compares: boolean; // it can show a comparison
  readonly help: { readonly keys: Entries; readonly meanings: Entries };
  readonly deferred?: readonly Deferred<never>[]; // its parts that are loaded when they are first shown
  create(around: Around): Shown;
}

// What a view gets when it is created.
export interface Around {
  readonly store: Store;
  readonly client: Client;
  readonly drawing: Drawing;
  readonly isShown: ReadonlySignal<boolean>; // this view is the one shown
  show(): void; // this view
  handOver(view: string, ids: readonly string[]): void; // shows another view, with these nodes and groups chosen in it
}

// A view with its own state, for the lifetime of the panel. All parts with "?" are optional.
export interface Shown {
  Body(): JSX.Element;
  Choices?(): JSX.Element; // among the choices of the toolbar
  Saved?(): JSX.Element | null; // what can be saved of it
  // What a mark keeps of it: what is in sight as a picture, and what only this view shows, in words.
  picture?(): Promise<Painted | undefined>;
  facts?(): readonly Fact[];
  readonly inCard?: InCard;
  readonly groups?: { openAll(): void; closeAll(): void };
  // Called when the view is shown while something is selected.
  enter?(selected: string): void;
  // Called when something was chosen in the toolbar or the card. Without this method it is revealed in the graph.
  select?(id: string): void;
  // Returns whether the key means something to the view.
  press?(event: KeyboardEvent, target: Element | undefined): boolean;
  // Its own part of a link.
  readonly link?: { read(values: ReadonlyMap<string, string>): void; write(): readonly LinkEntry[] };
  readonly close?: Dispose;
}

// What a view adds to the cards, also when another view is shown.
export interface InCard {
  readonly OfTensor: ComponentType<{ readonly rowKey: string }>; // the key of a row: "<key of the node>:<output>"
  readonly OfParameters: ComponentType<{ readonly hierarchy: Hierarchy; readonly id: string }>; // of a module
}

// Keys that most views share.
export const STEP_KEYS: Entries = [
  ["← →", "one step back or on; with Shift ten steps"],
  ["Home End", "go to the first and last step"],
  ["Space", "plays and pauses"],
  ["L", "follows the latest step, or stays where it is"],
];
