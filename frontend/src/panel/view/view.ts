// What a view is: one object for each, and whatever the panel asks of it. Only the list of views names it besides.

import type { ReadonlySignal } from "@preact/signals";
import type { ComponentType, JSX } from "preact";
import type { Client } from "../../api/client";
import type { Dispose } from "../../base/disposer";
import type { Hierarchy } from "../../model/tree/hierarchy";
import type { LinkEntry } from "../../state/address";
import type { Store } from "../../state/store";
import type { Drawing } from "../session/drawing";

// Lines of the help: a key or a sign, and what it does or means.
export type Entries = readonly (readonly [string, string])[];

export interface View {
  readonly id: string; // in links
  readonly text: string; // on its button
  readonly title: string;
  readonly key?: string; // leads to it; where several views share one, from each to the first other one
  readonly hasCard: boolean; // the card of what is selected is beside it
  readonly compares: boolean; // it can show a comparison
  readonly help: { readonly keys: Entries; readonly meanings: Entries };
  create(around: Around): Shown;
}

// What a view stands on.
export interface Around {
  readonly store: Store;
  readonly client: Client;
  readonly drawing: Drawing;
  readonly isShown: ReadonlySignal<boolean>; // it is this view that is looked at
  show(): void; // this view
}

// A view with its own state, as long as the panel is there. What is left out it does not have.
export interface Shown {
  Body(): JSX.Element;
  Choices?(): JSX.Element; // among the choices of the toolbar
  Saved?(): JSX.Element | null; // what can be taken away of it
  readonly inCard?: InCard;
  readonly groups?: { openAll(): void; closeAll(): void };
  // The view comes into sight while something is selected.
  enter?(selected: string): void;
  // Something was chosen in the toolbar or the card; without it, it is revealed in the graph.
  select?(id: string): void;
  // Tells whether the key means something to the view.
  press?(event: KeyboardEvent, target: Element | undefined): boolean;
  // Its own part of a link.
  readonly link?: { read(values: ReadonlyMap<string, string>): void; write(): readonly LinkEntry[] };
  readonly close?: Dispose;
}

// What a view adds to the cards, whichever view they are beside.
export interface InCard {
  readonly OfTensor: ComponentType<{ readonly rowKey: string }>; // the key of a row: "<key of the node>:<output>"
  readonly OfParameters: ComponentType<{ readonly hierarchy: Hierarchy; readonly id: string }>; // of a module
}

// What most views share of the keyboard.
export const STEP_KEYS: Entries = [
  ["← →", "a step back or on; with Shift ten"],
  ["Home End", "first and last step"],
  ["Space", "play and pause"],
  ["L", "follows the latest step, or stays"],
];
