// What keys do, and what colors, shapes and marks mean: in short.

import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { STATISTICS } from "../../model/recorded/statistics";
import type { View } from "../../state/address";
import { Popover } from "../controls/popover";

type Entries = readonly (readonly [string, string])[];

const EVERYWHERE: Entries = [
  ["1 2 3", "Graph, Flow, Charts"],
  ["/", "to Find"],
  ["N", "opens the findings"],
  ["T", "the next stage of the step"],
  ["O, S, ?", "color scale, saving, this help"],
];

const KEYS: Entries = [
  ["← →", "a step back or on; with Shift ten"],
  ["Home End", "first and last step"],
  ["Space", "play and pause"],
  ["L", "follows the latest step, or stays"],
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

const MEANINGS: Entries = [
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

const FLOW_KEYS: Entries = [
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

const FLOW_MEANINGS: Entries = [
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

const CHARTS_MEANINGS: Entries = [
  ["charts", "chosen tensors over each other, over all steps; “Find” adds a node, or all parameters of a module"],
  ["color, dash", "a color for each tensor and a dash for each run; of one tensor, a color for each run"],
  ["numbers", "at the step under the pointer, else at the chosen one; a click goes to a step"],
  ["orange", "the chosen step"],
  ["marks", "on the lower line of a log scale: a gradient of exactly zero; magenta at the top: NaN or infinity. A gap in a line: no gradient"],
  ["smoothing", "as in TensorBoard's Time Series, off at first; the raw lines stay below, and all numbers are raw"],
];

const OF_VIEW: Readonly<Record<View, { readonly keys: Entries; readonly meanings: Entries }>> = {
  graph: { keys: KEYS, meanings: MEANINGS },
  flow: { keys: FLOW_KEYS, meanings: FLOW_MEANINGS },
  charts: { keys: KEYS.filter(([key]) => ["← →", "Home End", "Space", "L"].includes(key)), meanings: CHARTS_MEANINGS },
};

// One sentence each: those that can be drawn, then those of parameters at the stage "applied".
const STATISTIC_MEANINGS: Entries = [
  ...STATISTICS.map(({ label, meaning }) => [label, meaning] as const),
  ["elements by magnitude", "how many of a sample of at most 4,096 elements are of each power of four"],
  ["weight norm", "L2 norm of the parameter before the optimizer's step"],
  ["update norm", "L2 norm of what the step added to it"],
  ["update / weight", "the one by the other: about 0.001 is usual; far more is unstable, far less learns nothing"],
];

export function Help({ view }: { readonly view: View }): JSX.Element {
  const [open, setOpen] = useState(false);
  return (
    <Popover id="help" label="?" look="icon help" title="Keys and signs" open={open} setOpen={setOpen}>
      <div class="help-text" data-testid="help-text">
        <List title="Keys" entries={[...OF_VIEW[view].keys, ...EVERYWHERE]} />
        <List title="What is drawn" entries={OF_VIEW[view].meanings} />
        <List title="Statistics of a gradient's elements; NaN and infinity are counted and left out of the others" entries={STATISTIC_MEANINGS} />
      </div>
    </Popover>
  );
}

function List({ title, entries }: { readonly title: string; readonly entries: Entries }): JSX.Element {
  return (
    <section>
      <h3>{title}</h3>
      <dl>{entries.map(([what, meaning]) => <div key={what}><dt>{what}</dt><dd>{meaning}</dd></div>)}</dl>
    </section>
  );
}
