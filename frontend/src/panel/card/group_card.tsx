// The card of a module call or of a fold.

import type { JSX } from "preact";
import { formatAmount, formatCount, plainNumber } from "../../base/format";
import { valueText } from "../../draw/scene/caption";
import { relateGroup } from "../../model/compare/comparison";
import { depthOfGroup } from "../../model/charts/depth";
import { spokenIn } from "../../model/recorded/complex";
import { noneWord, nounOf } from "../../model/recorded/record";
import { edgesIn, type Graph } from "../../model/recorded/graph";
import { calledAgain, type Hierarchy } from "../../model/tree/hierarchy";
import { State, type StepValues } from "../../model/visible/values";
import { toggleGroup } from "../../state/actions";
import { ComparedFact } from "../controls/compared_number";
import { Section } from "../controls/section";
import { Facts, type CardProps } from "./sections/card_parts";
import { DepthRatio } from "./sections/depth_ratio";
import { halvesOf } from "./sections/halves_of";
import { LoopProfile } from "./sections/loop_profile";
import { Links } from "./sections/neighbors";

// The nodes, and what they use from outside, such as the parameters of a cell that is called again.
function usedBy(graph: Graph, inside: readonly number[]): readonly number[] {
  return [...new Set(inside.flatMap((node) => [...edgesIn(graph, node)].map((edge) => graph.edgeSource[edge]!).concat(node)))].sort(
    (a, b) => a - b,
  );
}

export function GroupCard({ session, drawing, hierarchy, select, ofViews, group }: CardProps & { readonly group: number }): JSX.Element {
  const { store } = session;
  const { id, title, subtitle, kind, scope, parent } = hierarchy.groups[group]!;
  const open = store.graph.openGroups.value.has(group);
  const all = nodesInside(hierarchy, group);
  const own = all.filter((node) => node < hierarchy.graph.ownNodes);
  // For a module that only the other side of the comparison has, its ghosts.
  const inside = own.length > 0 ? own : all;
  const { kind: kinds } = hierarchy.graph.columns.nodes;
  const parameters = usedBy(hierarchy.graph, inside).filter((node) => kinds[node] === "parameter");
  const outer = parent === -1 ? undefined : hierarchy.groups[parent]!;
  const { path, call, module } = hierarchy.graph.columns.scopes;
  return (
    <>
      <h2>
        {title}
        <span class="kind">{subtitle || kind}</span>
      </h2>
      <button type="button" class="action" data-testid="toggle" onClick={() => toggleGroup(store, id)}>
        {open ? "Close" : "Open"} <kbd>Enter</kbd>
      </button>
      <Facts
        facts={[
          ...(scope === -1
            ? []
            : [
                ["module", module[scope]!] as const,
                ["path", path[scope] || "(the model itself)"] as const,
                ...(calledAgain(hierarchy.graph, scope) ? [["call", String(call[scope])] as const] : []),
              ]),
          ["nodes", formatCount(inside.length)],
          [
            "parameters",
            `${formatCount(parameters.length)}${own.length > 0 ? ` (${formatAmount(elements(hierarchy, parameters))} elements)` : ""}`,
          ],
        ]}
      />
      {store.shown.values.value && <Summary store={store} values={store.shown.values.value} group={group} inside={inside} />}
      <LoopProfile session={session} drawing={drawing} hierarchy={hierarchy} select={select} group={group} />
      <DepthRatio
        drawing={drawing}
        select={select}
        halves={halvesOf(store, hierarchy.graph)}
        ids={[id]}
        find={() => depthOfGroup(hierarchy, group)}
        of={[hierarchy, group]}
      />
      {outer && (
        <Section title="Inside of">
          <button type="button" class="link" onClick={() => select(outer.id)}>
            {outer.title}
          </button>
        </Section>
      )}
      {parameters.length > 0 && ofViews.map(({ OfParameters }, i) => <OfParameters key={i} hierarchy={hierarchy} id={id} />)}
      <Links title="Parameters" id="parameters" graph={hierarchy.graph} nodes={parameters} select={select} />
    </>
  );
}

function Summary({
  store,
  values,
  group,
  inside,
}: {
  readonly store: CardProps["session"]["store"];
  readonly values: StepValues;
  readonly group: number;
  readonly inside: readonly number[];
}): JSX.Element {
  const statistic = spokenIn(store.shown.statistic.value, store.recorded.hierarchy.value?.graph);
  const state = values.groups.state[group]! as State;
  const value = values.groups.value[group]!;
  const half = store.shown.half.value;
  const count = (wanted: State): number => inside.filter((node) => values.nodes.state[node] === wanted).length;
  const how = statistic.summary === "sum" ? "sum inside" : statistic.signed ? "farthest from 0 inside" : "greatest inside";
  return (
    <Section title={`${nounOf(store.recorded.record.value?.stage)} at this step, ${statistic.label}`} id="summary">
      <Facts
        facts={[
          [
            how,
            <span data-testid="summary-value" data-value={plainNumber(value)}>
              {valueText(value, state) ?? noneWord(half)}
            </span>,
          ],
          ...comparedFacts(store, group),
          [`with a ${half}`, formatCount(inside.length - count(State.none))],
          ["zero", formatCount(count(State.zero))],
          ["NaN or inf", <span class={count(State.nonfinite) > 0 ? "bad" : ""}>{formatCount(count(State.nonfinite))}</span>],
        ]}
      />
    </Section>
  );
}

function comparedFacts(
  { compare, shown }: CardProps["session"]["store"],
  group: number,
): readonly (readonly [string, JSX.Element | string])[] {
  const comparison = compare.comparison.value;
  if (comparison === undefined) return [];
  const missing = comparison.first.joined.missing[group]!;
  return [
    ["compared with", <ComparedFact related={relateGroup(comparison, group)} half={shown.half.value} />],
    ...(missing === 0 ? [] : [["only there", formatCount(missing)] as const]),
  ];
}

export function nodesInside(hierarchy: Hierarchy, group: number): readonly number[] {
  const inside: number[] = [];
  // Inner groups have greater numbers, so one pass marks all of them.
  const marked = new Uint8Array(hierarchy.groups.length);
  marked[group] = 1;
  for (let g = group + 1; g < hierarchy.groups.length; g++) marked[g] = marked[hierarchy.groups[g]!.parent] ?? 0;
  for (let node = 0; node < hierarchy.graph.nodeCount; node++) {
    if (marked[hierarchy.itemGroup[node]!] === 1) inside.push(node);
  }
  return inside;
}

function elements(hierarchy: Hierarchy, nodes: readonly number[]): number {
  const { graph } = hierarchy;
  return nodes.reduce((sum, node) => {
    const shape = graph.columns.slots.shape[graph.slotOffset[node]!] ?? [];
    return sum + shape.reduce((product, size) => product * size, 1);
  }, 0);
}
