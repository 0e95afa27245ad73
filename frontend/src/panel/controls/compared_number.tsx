// One number of both records, for the cards.

import type { JSX } from "preact";
import { formatNumber, plainNumber } from "../../base/format";
import { ratioText } from "../../draw/compare/ratio_scale";
import { middleOne, type One, type Range } from "../../model/compare/middle";
import { Relation, relate, type Related } from "../../model/compare/comparison";
import { noneWord, type Half } from "../../model/recorded/record";
import { State } from "../../model/visible/values";

// A number of a table, and those there: one, or those of several runs. Undefined if there is none.
export function relateNumbers(here: number | undefined, there: readonly (number | undefined)[]): Related {
  return relate(one(here), there.length === 1 ? one(there[0]) : middleOne(there.map(one)));
}

function one(value: number | undefined): One {
  if (value === undefined) return { value: NaN, state: State.none };
  return { value, state: value === 0 ? State.zero : State.number };
}

export function ratioOf(related: Related): string {
  return related.relation === Relation.both ? (ratioText(related) ?? "") : "";
}

export function plainRatio({ relation, log2 }: Related): string {
  return relation === Relation.both ? plainNumber(2 ** log2) : "none";
}

// With two digits: where it is, not how much exactly.
export function rangeText(range: Range): string {
  return range.map((end) => formatNumber(Number(end.toPrecision(2)))).join(" … ");
}

// "0.0456, ×2.7": the number there, and here ÷ there; of several runs "0.0456 (0.01 … 0.06), ×2.7".
export function ComparedFact({ related, half }: { readonly related: Related; readonly half: Half }): JSX.Element {
  const ratio = ratioText(related);
  const range = related.range === undefined ? "" : ` (${rangeText(related.range)})`;
  const there = Number.isNaN(related.there) ? "" : `${formatNumber(related.there)}${range}, `;
  return (
    <span data-testid="compared" data-there={plainNumber(related.there)} data-ratio={plainRatio(related)}>
      {there}
      {ratio ?? noneWord(half)}
    </span>
  );
}
