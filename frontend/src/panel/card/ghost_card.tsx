// The card of a node that only the other side of the comparison has.

import type { JSX } from "preact";
import { runTitle } from "../../model/recorded/run";
import { formatNumber, plainNumber } from "../../base/format";
import { relateNode } from "../../model/compare/comparison";
import { kindLabel } from "../../model/recorded/labels";
import { noneWord } from "../../model/recorded/record";
import { titleOf } from "../../model/recorded/titles";
import { swapSides } from "../../state/compare_actions";
import { factsOf } from "./node_card";
import { Facts, type CardProps } from "./sections/card_parts";
import { Neighbors } from "./sections/neighbors";

export function GhostCard(props: CardProps & { readonly node: number }): JSX.Element | null {
  const {
    node,
    session: { store },
  } = props;
  const [comparison, place] = [store.compare.comparison.value, store.compare.place.value];
  const there = comparison?.first.joined.nodes[node];
  if (comparison === undefined || place === undefined || there === undefined || there === -1) return null;
  const { graph } = comparison.first.hierarchy;
  const { there: value } = relateNode(comparison, node);
  const show = (): void => {
    swapSides(store);
    store.shown.selected.value = graph.columns.nodes.key[there]!;
  };
  return (
    <>
      <h2>
        {titleOf(graph, there)}
        <span class={`kind kind-${graph.columns.nodes.kind[there]}`}>{kindLabel(graph.columns.nodes.kind[there]!)}</span>
      </h2>
      <p class="note" data-testid="ghost" data-there={plainNumber(value)}>
        Only in {runTitle(place.run.run)} / {place.tag.tag}, step {place.ref.step}: the shown graph has no such node.
      </p>
      <Facts
        facts={[
          ...factsOf(graph, there, graph.slotOffset[there]!),
          [`${store.shown.statistic.value.label} there`, Number.isNaN(value) ? noneWord(store.shown.half.value) : formatNumber(value)],
        ]}
      />
      {store.compare.places.value.length === 1 && (
        <button type="button" class="link to-dashboard" data-testid="show-there" title="Swaps both sides of the comparison" onClick={show}>
          Show it there
        </button>
      )}
      <Neighbors {...props} />
    </>
  );
}
