// What a mark of the heat map says besides the step: the steps in it, and the selected rows.

import type { Fact } from "../../../state/story";
import type { Flowing } from "./flow_data";
import { fullTitle } from "./flow_words";

export function flowFacts({ state, flow, rows, columns, selection }: Flowing): readonly Fact[] {
  const [shown, area, chosen] = [flow.peek(), state.area.peek(), selection.peek()];
  if (shown === undefined) return [];
  if (area === undefined || chosen === undefined) return inSight(shown.steps, columns.peek());
  const ends = [rows.peek()[chosen.rows[0]], rows.peek()[chosen.rows[1] - 1]];
  const titles = ends.flatMap((row) => (row === undefined ? [] : [fullTitle(shown.hierarchy, row)]));
  const count = chosen.rows[1] - chosen.rows[0];
  return [
    ["Steps", spanText(area.from, area.to)],
    ["Rows", `${count}: ${[...new Set(titles)].join(" to ")}`],
  ];
}

// Nothing, if these are all.
function inSight(steps: readonly number[], { from, to }: { readonly from: number; readonly to: number }): readonly Fact[] {
  const [first, last] = [Math.max(0, Math.floor(from)), Math.min(steps.length, Math.ceil(to)) - 1];
  if (last < first || (first === 0 && last === steps.length - 1)) return [];
  return [["Steps", spanText(steps[first]!, steps[last]!)]];
}

const spanText = (from: number, to: number): string => (from === to ? String(from) : `${from} to ${to}`);
