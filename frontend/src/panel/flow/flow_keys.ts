// Keys and symbols of the heat map, and what the help says about them.

import type { Entries } from "../view/view";
import { mostHeaders } from "../../model/flow/flow_headers";
import { enlargeRows, moveRow, scrollRows, showEverything, togglePin, toggleRows, zoomColumns } from "./data/flow_actions";
import { markArea } from "./data/flow_area";
import type { Flowing } from "./data/flow_data";

export const FLOW_KEYS: Entries = [
  ["← →", "one step back or on; with Shift ten steps"],
  ["↑ ↓", "one row up or down"],
  ["Home End", "go to the first and last step"],
  ["+ −", "show fewer and more steps"],
  ["] [", "make rows higher and lower"],
  ["Page Up Page Down", "scroll the rows"],
  ["F", "shows all steps"],
  ["P", "pins the row above the others, or unpins it"],
  ["A", "begins to select at the cursor; the arrows extend the selection, and A ends it"],
  ["Esc", "ends the selection"],
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
  ["wheel", "scrolls the rows; with Shift the steps; with Ctrl it shows fewer or more steps"],
  [
    "drag",
    "over cells selects them, for a table of their numbers; over the line, or over the numbers of the steps, shows these steps; with Shift it moves the map",
  ],
  ["double click", "shows all steps"],
  ["bars above the rows", "findings of the training: from their first to their last step"],
  ["right edge", "all rows, small; the frame is around those in sight"],
];

const ZOOM = 1.5;
const ROW_ZOOM = 1.2;

// Keys of the heat map. All other keys work as in the graph.
export function pressInFlow(flowing: Flowing, event: KeyboardEvent, target: Element | undefined): boolean {
  const { state } = flowing;
  const { columns, rows } = flowing.sight.peek();
  const stride = event.shiftKey ? 10 : 1;
  const column = flowing.cursor.position.peek() ?? (columns.from + columns.to) / 2;
  const chosen = flowing.cursor.row.peek();
  const row = chosen >= rows.from && chosen < rows.to ? chosen : rows.from;
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
      enlargeRows(state, rows, ROW_ZOOM, row);
      return true;
    case "[":
      enlargeRows(state, rows, 1 / ROW_ZOOM, row);
      return true;
    case "PageUp":
    case "PageDown":
      // No row is skipped, not even under headers.
      scrollRows(state, rows, (event.key === "PageUp" ? -1 : 1) * (rows.to - rows.from - mostHeaders(rows)) * rows.unitPx);
      return true;
    case "p": {
      const pinned = flowing.rows.peek()[flowing.cursor.row.peek()]?.id;
      if (pinned !== undefined) togglePin(state, pinned);
      return pinned !== undefined;
    }
    case "a":
      markArea(state, flowing.rows.peek()[flowing.cursor.row.peek()]?.id, state.store.place.ref.peek()?.step);
      return true;
    case "f":
      showEverything(state);
      return true;
    case "Enter": {
      const id = flowing.rows.peek()[flowing.cursor.row.peek()]?.id;
      if (id === undefined || target?.closest("button, summary") != null) return false;
      toggleRows(state, flowing.rows.peek(), id);
      return true;
    }
    default:
      return false;
  }
}
