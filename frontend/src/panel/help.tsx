// What keys do, and what colors, shapes and marks mean: in short.

import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { Popover } from "./popover";

const KEYS: readonly (readonly [string, string])[] = [
  ["← →", "a step back or on; with Shift ten"],
  ["Home End", "first and last step"],
  ["Space", "play and pause"],
  ["Enter", "opens and closes the selected module"],
  ["F", "fits the drawing to the window"],
  ["Escape", "closes what is open"],
  ["Tab, ↑ ↓", "through the nodes"],
];

const MEANINGS: readonly (readonly [string, string])[] = [
  ["color", "the chosen statistic of the gradient; the scale is the same at every step and stage"],
  ["stage", "where in the step gradients were read, from the backward to what the optimizer used; after the backward only parameters have any"],
  ["hatched", "no gradient arrived"],
  ["magenta", "NaN or infinity in the gradient"],
  ["round, green", "a parameter or another leaf: its gradient lands in .grad"],
  ["slanted", "an input"],
  ["cut corners", "a buffer"],
  ["dashed", "a constant"],
  ["orange, double", "a loss or output: the backward starts here"],
  ["sheets below", "a closed module; “max” (of signed numbers “up to”) is the greatest inside. A double click opens it"],
  ["thick line", "more gradient flows back along it; a click tells how much"],
  ["dashed line", "no gradient flows back along it"],
];

export function Help(): JSX.Element {
  const [open, setOpen] = useState(false);
  return (
    <Popover id="help" label="?" look="icon help" title="Keys and signs" open={open} setOpen={setOpen}>
      <div class="help-text" data-testid="help-text">
        <List title="Keys" entries={KEYS} />
        <List title="What is drawn" entries={MEANINGS} />
      </div>
    </Popover>
  );
}

function List({ title, entries }: { readonly title: string; readonly entries: readonly (readonly [string, string])[] }): JSX.Element {
  return (
    <section>
      <h3>{title}</h3>
      <dl>{entries.map(([what, meaning]) => <div key={what}><dt>{what}</dt><dd>{meaning}</dd></div>)}</dl>
    </section>
  );
}
