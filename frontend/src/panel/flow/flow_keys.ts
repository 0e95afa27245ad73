// Keys and symbols of the heat map, and what the help says about them.

import type { Entries } from "../view/view";
import { moveRow, showEverything, toggleRows, zoomColumns, zoomRows } from "./flow_actions";
import type { Flowing } from "./flow_data";

export const FLOW_KEYS: Entries = [
  ["← →", "one step back or on; with Shift ten steps"],
  ["↑ ↓", "one row up or down"],
  ["Home End", "go to the first and last step"],
  ["+ −", "show fewer and more steps"],
  ["] [", "show fewer and more rows"],
  ["F", "shows everything"],
  ["Enter", "opens and closes the module"],
  ["D", "shows values (forward) or gradients (backward)"],
  ["G", "goes to the graph, at the same step and node"],
  ["C", "compares with another run or graph, or all steps with one, or ends the comparison"],
  ["Space", "plays and pauses"],
  ["L", "follows the latest step, or stays where it is"],
];

export const FLOW_MEANINGS: Entries = [
  [
    "flow",
    "how the gradient (forward: the value) of every module and node changed over the training: one row for each, in forward order, and one column for each recorded step",
  ],
  [
    "color",
    "the chosen statistic of the gradient or value, on the scale of the graph; where several cells share a pixel, the greatest number",
  ],
  [
    "comparison",
    "each cell is colored by its number here ÷ there, at the same step or at a fixed one. Violet hatching marks what only one of the two has; hatched blue or orange marks what is exactly zero on one side",
  ],
  ["closed module", "shows the greatest number of what is in it (the sum for counts); when it is open, its contents have their own rows"],
  ["hatched", "no gradient arrived"],
  ["dotted", "forward: this value was not read"],
  ["magenta", "NaN or infinity in the gradient or value, or in the line above; over a column: in any pass and stage of the step"],
  ["line above", "a scalar that the same run logs, such as its loss, or a recorded number of the step, on the same steps"],
  ["orange, blue", "the chosen step and row; a click goes there"],
  ["wheel", "shows fewer or more steps; with Shift, rows; over the names it moves the rows"],
  ["drag", "shows the steps and rows in the frame; with Shift it moves them"],
  ["double click", "shows everything"],
];

const ZOOM = 1.5;

// Keys of the heat map. All other keys work as in the graph.
export function pressInFlow(flowing: Flowing, event: KeyboardEvent, target: Element | undefined): boolean {
  const { state } = flowing;
  const { columns, rows } = flowing.sight.peek();
  const stride = event.shiftKey ? 10 : 1;
  const column = flowing.cursor.position.peek() ?? (columns.from + columns.to) / 2;
  const row = flowing.cursor.row.peek() === -1 ? (rows.from + rows.to) / 2 : flowing.cursor.row.peek() + 0.5;
  switch (event.key) {
    case "ArrowUp":
      moveRow(state, flowing.rows.peek(), -stride);
      return true;
    case "ArrowDown":
      moveRow(state, flowing.rows.peek(), stride);
      return true;
    case "+":
    case "=":
      zoomColumns(state, columns, ZOOM, column);
      return true;
    case "-":
      zoomColumns(state, columns, 1 / ZOOM, column);
      return true;
    case "]":
      zoomRows(state, rows, ZOOM, row);
      return true;
    case "[":
      zoomRows(state, rows, 1 / ZOOM, row);
      return true;
    case "f":
      showEverything(state);
      return true;
    case "Enter": {
      const id = flowing.rows.peek()[flowing.cursor.row.peek()]?.id;
      if (id === undefined || target?.closest("button, summary") != null) return false;
      toggleRows(state, flowing.rows.peek(), rows, id);
      return true;
    }
    default:
      return false;
  }
}
