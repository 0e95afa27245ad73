// Keys and signs of the heat map, and what the help says of them.

import type { Entries } from "../view/view";
import { moveRow, showEverything, toggleRows, zoomColumns, zoomRows } from "./flow_actions";
import type { Flowing } from "./flow_data";

export const FLOW_KEYS: Entries = [
  ["← →", "a step back or on; with Shift ten"],
  ["↑ ↓", "a row up or down"],
  ["Home End", "first and last step"],
  ["+ −", "fewer and more steps in sight"],
  ["] [", "fewer and more rows in sight"],
  ["F", "shows everything"],
  ["Enter", "opens and closes the module"],
  ["G", "to the graph, at the same step and node"],
  ["C", "compares with another run or graph, or all steps with one, and ends that"],
  ["Space", "play and pause"],
  ["L", "follows the latest step, or stays"],
];

export const FLOW_MEANINGS: Entries = [
  ["flow", "how the gradient of every module and node went over the training: a row each, in forward order, and a column for each recorded step"],
  ["color", "the chosen statistic of the gradient, on the scale of the graph; where several cells share a pixel, the greatest"],
  ["comparison", "each cell by its number here ÷ there, at the same step or at a fixed one; violet hatching marks what only one of the two has, hatched blue or orange what is exactly zero on one side"],
  ["closed module", "the greatest of what is in it (of counts the sum); open, what is in it has rows of its own"],
  ["hatched", "no gradient arrived"],
  ["magenta", "NaN or infinity in the gradient, or in the line above; over a column, in any pass and stage of the step"],
  ["line above", "a scalar that the same run logs, such as its loss, on the same steps"],
  ["orange, blue", "the chosen step and row; a click goes there"],
  ["wheel", "fewer or more steps in sight; with Shift rows; over the names it moves the rows"],
  ["drag", "shows the steps and rows in the frame; with Shift it moves them"],
  ["double click", "shows everything"],
];

const ZOOM = 1.5;

// Keys of the heat map; where they mean nothing to it, they mean what they do in the graph.
export function pressInFlow(flowing: Flowing, event: KeyboardEvent, target: Element | undefined): boolean {
  const { state } = flowing;
  const { columns, rows } = flowing.sight.peek();
  const stride = event.shiftKey ? 10 : 1;
  const column = flowing.cursor.position.peek() ?? (columns.from + columns.to) / 2;
  const row = flowing.cursor.row.peek() === -1 ? (rows.from + rows.to) / 2 : flowing.cursor.row.peek() + 0.5;
  switch (event.key) {
    case "ArrowUp": moveRow(state, flowing.rows.peek(), -stride); return true;
    case "ArrowDown": moveRow(state, flowing.rows.peek(), stride); return true;
    case "+": case "=": zoomColumns(state, columns, ZOOM, column); return true;
    case "-": zoomColumns(state, columns, 1 / ZOOM, column); return true;
    case "]": zoomRows(state, rows, ZOOM, row); return true;
    case "[": zoomRows(state, rows, 1 / ZOOM, row); return true;
    case "f": showEverything(state); return true;
    case "Enter": {
      const id = flowing.rows.peek()[flowing.cursor.row.peek()]?.id;
      if (id === undefined || target?.closest("button, summary") != null) return false;
      toggleRows(state, flowing.rows.peek(), rows, id);
      return true;
    }
    default: return false;
  }
}
