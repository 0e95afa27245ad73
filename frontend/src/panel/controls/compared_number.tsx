// One number of both records, for the cards.

import type { JSX } from "preact";
import { formatNumber, plainNumber } from "../../base/format";
import { ratioText } from "../../draw/compare/ratio_scale";
import { Relation, relate, type Related } from "../../model/compare/comparison";
import { noneWord, type Half } from "../../model/recorded/record";
import { State } from "../../model/visible/values";

// A number of a table; undefined if there is none.
export function relateNumbers(here: number | undefined, there: number | undefined, known: boolean): Related {
  return relate(one(here), known ? one(there) : undefined);
}

function one(value: number | undefined): { readonly value: number; readonly state: State } {
  if (value === undefined) return { value: NaN, state: State.none };
  return { value, state: value === 0 ? State.zero : State.number };
}

export function ratioOf(related: Related): string {
  return related.relation === Relation.both ? (ratioText(related) ?? "") : "";
}

export function plainRatio({ relation, log2 }: Related): string {
  return relation === Relation.both ? plainNumber(2 ** log2) : "none";
}

// "0.0456, ×2.7": the number there, and here ÷ there.
export function ComparedFact({ related, half }: { readonly related: Related; readonly half: Half }): JSX.Element {
  const ratio = ratioText(related);
  const there = Number.isNaN(related.there) ? "" : `${formatNumber(related.there)}, `;
  return (
    <span data-testid="compared" data-there={plainNumber(related.there)} data-ratio={plainRatio(related)}>
      {there}
      {ratio ?? noneWord(half)}
    </span>
  );
}
