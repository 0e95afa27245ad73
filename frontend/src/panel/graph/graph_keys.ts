// Keys and symbols of the drawing, and what the help says about them.

import { turnColumns, turnFollowing, turnUses } from "../../state/uses";
import type { Store } from "../../state/store";
import { STEP_KEYS, type Entries } from "../view/view";
import type { GraphCanvas } from "./graph_canvas";

export const GRAPH_KEYS: Entries = [
  ...STEP_KEYS,
  ["Tab, ↑ ↓", "move through the nodes; Space selects one"],
  ["Enter", "opens and closes the selected module"],
  ["E, Shift+E", "open all modules, close all"],
  ["U", "draws the selected tensor once, or beside each of its uses"],
  ["D", "shows values (forward) or gradients (backward)"],
  ["V", "lays the graph out in columns as high as the window, or in one column"],
  ["A", "shows norms and activations as rows in the layer before them, or as boxes of their own"],
  ["F, + −", "fit the drawing to the window; zoom in and out"],
  ["wheel, two fingers", "move the drawing; with Ctrl, or a pinch, they zoom"],
  ["Enter in Find", "goes to the next hit; with Shift to the previous one"],
  ["G", "goes to the heat map over all steps, and back"],
  ["C", "compares with another step, run or graph, or ends the comparison"],
  ["Escape", "closes what is open"],
];

export const GRAPH_MEANINGS: Entries = [
  ["forward, backward", "values that flowed forward, or gradients that flowed back; forward shows gradients where no values were recorded"],
  ["color", "the chosen statistic of the gradient or value; the scale is the same at every step and stage"],
  ["≤, ≥", "a few numbers lie far beyond that end of the scale and have its color"],
  [
    "stage",
    "where in the step gradients were read, from the backward to what the optimizer used; after the backward only parameters have gradients",
  ],
  ["hatched", "no gradient arrived"],
  ["dotted", "forward: this value was not read; its card says why"],
  ["magenta", "NaN or infinity in the gradient or value"],
  ["round, green", "a parameter or another leaf: its gradient lands in .grad"],
  ["row in a box", "a parameter, buffer or constant that only this operation uses, or a norm, activation or dropout that only follows it"],
  ["slanted", "an input"],
  ["cut corners", "a buffer"],
  ["dashed", "a constant"],
  ["orange, double", "a loss or output: the backward starts here"],
  ["sheets below", "a closed module; “max” is the greatest number inside (“up to” for signed numbers). A double click opens it"],
  [
    "strip, ×48",
    "equal blocks in a row, with a cell in the color of each block. A click selects the block, a double click opens the row there",
  ],
  [
    "three dots",
    "operations that only change the shape, folded into their line. A click opens them; a double click on one folds them again",
  ],
  [
    "↗",
    "a tensor with many uses, drawn beside each use; its gradient counts for the module that holds them all. Its card (or U) draws it once",
  ],
  ["pointer at rest", "lights the path to the loss and back to the leaves"],
  ["thick line", "more gradient flows back along it, or a greater value forward; a click shows how much"],
  ["dashed line", "no gradient flows back along it"],
  [
    "comparison",
    "each box is colored by its number here ÷ there: orange is greater here, blue smaller. Violet hatching marks what is only here, violet dashes mark what is only there. A thick frame around the color of zero marks what is exactly zero on one side",
  ],
  ["profile", "the gradient from call to call, on the card of a module that is called again, of a row of blocks, and of what is in them"],
];

const ZOOM = 1.3;

// Returns whether the key meant something.
export function pressInGraph(store: Store, canvas: GraphCanvas | undefined, { key }: KeyboardEvent): boolean {
  switch (key) {
    case "f":
      canvas?.fit();
      return true;
    case "+":
    case "=":
      canvas?.zoomBy(ZOOM);
      return true;
    case "-":
      canvas?.zoomBy(1 / ZOOM);
      return true;
    case "v":
      turnColumns(store);
      return true;
    case "a":
      turnFollowing(store);
      return true;
    case "u":
      return store.shown.selected.value !== undefined && turnUses(store, store.shown.selected.value);
    default:
      return false;
  }
}
