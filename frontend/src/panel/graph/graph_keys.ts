// Keys and signs of the drawing, and what the help says of them.

import { turnUses } from "../../state/uses";
import type { Store } from "../../state/store";
import { STEP_KEYS, type Entries } from "../view/view";
import type { GraphCanvas } from "./graph_canvas";

export const GRAPH_KEYS: Entries = [
  ...STEP_KEYS,
  ["Tab, ↑ ↓", "through the nodes; there Space selects one"],
  ["Enter", "opens and closes the selected module"],
  ["E, Shift+E", "opens all modules, closes all"],
  ["U", "draws the selected tensor once, or beside each of its uses"],
  ["D", "draws forward or backward"],
  ["F, + −", "fits the drawing to the window; nearer and farther"],
  ["Enter in Find", "to the next that was found; with Shift to the one before"],
  ["G", "to the heat map over all steps, and back"],
  ["C", "compares with another step, run or graph, and ends that"],
  ["Escape", "closes what is open"],
];

export const GRAPH_MEANINGS: Entries = [
  ["color", "the chosen statistic of the gradient; the scale is the same at every step and stage"],
  ["≤, ≥", "a few numbers lie far beyond that end of the scale, and have its color"],
  ["stage", "where in the step gradients were read, from the backward to what the optimizer used; after the backward only parameters have any"],
  ["hatched", "no gradient arrived"],
  ["magenta", "NaN or infinity in the gradient"],
  ["round, green", "a parameter or another leaf: its gradient lands in .grad"],
  ["slanted", "an input"],
  ["cut corners", "a buffer"],
  ["dashed", "a constant"],
  ["orange, double", "a loss or output: the backward starts here"],
  ["sheets below", "a closed module; “max” (of signed numbers “up to”) is the greatest inside. A double click opens it"],
  ["strip, ×48", "equal blocks in a row, a cell each in its block’s color. A click selects the block, a double click opens the row there"],
  ["three dots", "operations that only change the shape, folded into their line. A click opens them, a double click on one folds them again"],
  ["↗", "a tensor that many use, drawn beside each of them; its gradient counts to what holds them all. Its card (or U) draws it once"],
  ["pointer at rest", "lights the way to the loss and back to the leaves"],
  ["thick line", "more gradient flows back along it; a click tells how much"],
  ["dashed line", "no gradient flows back along it"],
  ["comparison", "each box is colored by its number here ÷ there: orange is greater here, blue smaller; violet hatching marks what is only here, violet dashes what is only there, and a thick frame around the color of zero what is exactly zero on one side"],
  ["profile", "on the card of a module that is called again, of a row of blocks, and of what is in them: the gradient from call to call"],
];

const ZOOM = 1.3;

// Tells whether the key meant something.
export function pressInGraph(store: Store, canvas: GraphCanvas | undefined, { key }: KeyboardEvent): boolean {
  switch (key) {
    case "f": canvas?.fit(); return true;
    case "+": case "=": canvas?.zoomBy(ZOOM); return true;
    case "-": canvas?.zoomBy(1 / ZOOM); return true;
    case "u": return store.shown.selected.value !== undefined && turnUses(store, store.shown.selected.value);
    default: return false;
  }
}
