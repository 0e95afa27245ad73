// The card of one node.

import { useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import { formatCount, shortenPaths } from "../../base/format";
import { depthOfNode } from "../../model/charts/depth";
import { isComplex, spoken } from "../../model/recorded/complex";
import { isSeed, stopsGradient, whyNone } from "../../model/recorded/gradient_flow";
import { edgesOut, type Graph } from "../../model/recorded/graph";
import { hasShape, kindLabel, operationLabel, shapeTextOf } from "../../model/recorded/labels";
import { halfWord, numberAt, type RecordedStep } from "../../model/recorded/record";
import { nameOfNode } from "../../model/recorded/titles";
import { calledAgain } from "../../model/tree/hierarchy";
import { usesOf } from "../../model/tree/placement";
import { turnUses } from "../../state/uses";
import { DashboardLink } from "../session/dashboard_link";
import { Facts, type CardProps } from "./sections/card_parts";
import { DepthRatio } from "./sections/depth_ratio";
import { halvesOf } from "./sections/halves_of";
import { History, useSeries } from "./sections/history";
import { LoopProfile } from "./sections/loop_profile";
import { Namesakes, Neighbors } from "./sections/neighbors";
import { Shares } from "./sections/shares";
import { Stages } from "./sections/stages";
import { StatisticsTable, type There } from "./sections/statistics_table";
import { WholeArrays } from "./sections/whole_arrays";

export function NodeCard(props: CardProps & { readonly node: number }): JSX.Element {
  const { hierarchy, node, session } = props;
  const [{ graph }, { store }] = [hierarchy, session];
  const { columns } = graph;
  const [slot, setSlot] = useState(0);
  const slots = columns.nodes.slot_count[node]!;
  const row = graph.slotOffset[node]! + Math.min(slot, slots - 1);
  const [halves, half] = [halvesOf(store, graph), store.shown.half.value];
  const record = halves[half];
  const series = useSeries(session, slots > 0 ? row : undefined);
  const recorded = store.place.tag.value?.records.some(({ hasValues }) => hasValues) === true;
  const values = useSeries(session, slots > 0 && recorded ? row : undefined, "value");
  const seriesOf = { gradient: series?.ok ? series.value : undefined, value: recorded && values?.ok ? values.value : undefined };
  return (
    <>
      <h2>
        {nameOfNode(graph, node) || operationLabel(columns.nodes.operation[node]!)}
        <span class={`kind kind-${columns.nodes.kind[node]}`}>{kindLabel(columns.nodes.kind[node]!)}</span>
      </h2>
      <Marks graph={graph} node={node} row={row} />
      <Note graph={graph} node={node} />
      {slots > 1 && <SlotPicker graph={graph} node={node} slot={slot} choose={setSlot} />}
      <Facts
        facts={[...factsOf(graph, node, row), ...aboutPart(graph, record, row), ...aboutRoot(halves.gradient, columns.nodes.kind[node])]}
      />
      <DashboardLink store={session.store} graph={graph} node={node} />
      <Uses {...props} />
      {slots > 0 && (
        <>
          <WholeArrays
            client={session.client}
            halves={halves}
            series={seriesOf}
            graph={graph}
            row={row}
            word={halfWord("value", columns.nodes.kind[node])}
            seed={isSeed(graph, node)}
            theme={props.drawing.theme.value}
          />
          <StatisticsTable
            halves={halves}
            half={half}
            rows={{ gradient: row, value: row }}
            kind={columns.nodes.kind[node]}
            statistic={store.shown.statistic.value}
            why={{ gradient: whyNone(graph, node, row, halves.gradient), value: whyNone(graph, node, row, halves.value) }}
            there={thereOf(session, row)}
            complex={isComplex(graph, row)}
          />
          <Stages session={session} reply={series} complex={isComplex(graph, row)} />
          <Shares {...props} row={row} record={halves.gradient} edges={sharing(graph, node, row)} />
          <LoopProfile {...props} />
          <DepthRatio
            drawing={props.drawing}
            select={props.select}
            halves={halves}
            ids={[columns.nodes.key[node], hierarchy.groups[hierarchy.itemGroup[node]!]?.id]}
            find={() => depthOfNode(hierarchy, node, row - graph.slotOffset[node]!)}
            of={[hierarchy, node, row]}
          />
          <History
            session={session}
            drawing={props.drawing}
            ofViews={props.ofViews}
            reply={series}
            values={seriesOf.value}
            word={halfWord("value", columns.nodes.kind[node])}
            statistic={spoken(session.store.shown.statistic.value, isComplex(graph, row))}
          />
        </>
      )}
      <Neighbors {...props} />
      <Namesakes {...props} row={row} />
    </>
  );
}

function thereOf({ store }: CardProps["session"], row: number): readonly There[] | undefined {
  const comparison = store.compare.comparison.value;
  return comparison?.sides.map(({ record, joined }) => ({ record, row: joined.rows[row]! }));
}

function sharing(graph: Graph, node: number, row: number): readonly number[] {
  const { source_slot: slotOf } = graph.columns.edges;
  return Array.from(edgesOut(graph, node)).filter((edge) => edge < graph.ownEdges && graph.slotOffset[node]! + slotOf[edge]! === row);
}

export function factsOf(graph: Graph, node: number, row: number): readonly (readonly [string, ComponentChildren])[] {
  const { nodes, scopes, slots } = graph.columns;
  const scope = nodes.scope[node]!;
  const source = nodes.source[node];
  const facts: (readonly [string, ComponentChildren])[] = [
    ["operation", nodes.operation[node]],
    [
      "module",
      scope === -1
        ? undefined
        : `${scopes.path[scope] || scopes.module[scope]}${calledAgain(graph, scope) ? `#${scopes.call[scope]}` : ""} (${scopes.module[scope]})`,
    ],
    ["shape", shapeTextOf(graph, row) || undefined],
    ["dtype", hasShape(graph, row) ? slots.dtype[row] : undefined],
    ["order", nodes.order[node] === 1 ? undefined : `${nodes.order[node]}: made while a backward ran with create_graph`],
    ["also named", nodes.aliases[node]?.join(", ")],
    ["source", source && <span title={source}>{shortenPaths(source)}</span>],
    ["key", nodes.key[node]],
  ];
  return facts.filter(([, text]) => text !== undefined && text !== "");
}

const PART =
  "The recording process has only a part of this tensor's gradient. The numbers are those of that part and are not included in totals.";

// For a distributed tensor, the numbers cover only the part that one process has.
function aboutPart(
  { columns: { slots } }: Graph,
  record: RecordedStep | undefined,
  row: number,
): readonly (readonly [string, ComponentChildren])[] {
  if (!slots.part?.[row]) return [];
  const whole = slots.shape[row]!.reduce((product, size) => product * size, 1);
  const own = record === undefined ? undefined : numberAt(record, "numel", row);
  const count = own === undefined ? "" : `, ${formatCount(own)} of ${formatCount(whole)} elements`;
  return [["recorded", <span title={PART}>{`${slots.part[row]} (${slots.placement?.[row] ?? ""})${count}`}</span>]];
}

// The objective is shown where the gradient starts.
function aboutRoot(record: RecordedStep | undefined, kind: string | undefined): readonly (readonly [string, string])[] {
  if (kind !== "root" || record === undefined) return [];
  return [
    ["differentiated", record.objective || "itself"],
    ["stage", record.stage],
  ];
}

// Torch's attributes of the tensor: is_leaf, requires_grad, retains_grad.
function Marks({ graph, node, row }: { readonly graph: Graph; readonly node: number; readonly row: number }): JSX.Element {
  const { nodes, slots } = graph.columns;
  const leaf = nodes.is_leaf[node] === true;
  return (
    <p
      class="marks"
      data-testid="marks"
      data-leaf={leaf}
      data-requires-grad={slots.requires_grad[row]}
      data-retains-grad={slots.retains_grad[row]}
    >
      <span class={leaf ? "mark mark-leaf" : "mark"}>{leaf ? "leaf" : "non-leaf"}</span>
      <span class="mark">{slots.requires_grad[row] ? "requires grad" : "needs no grad"}</span>
      {slots.retains_grad[row] && <span class="mark mark-retains">retains grad</span>}
      {slots.part?.[row] && (
        <span class="mark mark-part" data-testid="part" title={PART}>
          {slots.part[row]}
        </span>
      )}
      {nodes.order[node]! > 1 && <span class="mark mark-order">order {nodes.order[node]}</span>}
    </p>
  );
}

// What is known about the node. A reason for a missing gradient is highlighted.
function Note({ graph, node }: { readonly graph: Graph; readonly node: number }): JSX.Element | null {
  const cut = stopsGradient(graph, node);
  const note = graph.columns.nodes.note[node] || (cut ? "The gradient stops here." : "");
  if (note === "") return null;
  const reason = graph.columns.nodes.reason[node]!;
  const missing = cut || (reason !== "" && reason !== "frozen");
  return (
    <p class={missing ? "note missing" : "note"} data-testid="note" title={note}>
      {shortenPaths(note)}
    </p>
  );
}

// A tensor with several uses is drawn once or next to each use.
function Uses({ hierarchy, node, session }: CardProps & { readonly node: number }): JSX.Element | null {
  const uses = usesOf(hierarchy.graph, node);
  if (uses < 2) return null;
  const once = hierarchy.copied[node] === 0;
  return (
    <button
      type="button"
      class="link to-dashboard"
      data-testid="turn-uses"
      data-once={once}
      title={
        once
          ? "Draws a box beside each use, instead of one box with a line to each (U)"
          : "Draws one box with a line to each use, instead of a box beside each (U)"
      }
      onClick={() => turnUses(session.store, hierarchy.graph.columns.nodes.key[node]!)}
    >
      {once ? `Draw beside each of its ${uses} uses` : `Draw once, with ${uses} lines`}
    </button>
  );
}

function SlotPicker({
  graph,
  node,
  slot,
  choose,
}: {
  readonly graph: Graph;
  readonly node: number;
  readonly slot: number;
  readonly choose: (slot: number) => void;
}): JSX.Element {
  const count = graph.columns.nodes.slot_count[node]!;
  return (
    <label class="choice">
      <span>Output</span>
      <select data-testid="slot" value={slot} onChange={(event) => choose(Number(event.currentTarget.value))}>
        {Array.from({ length: count }, (_, i) => {
          const row = graph.slotOffset[node]! + i;
          const name = graph.columns.slots.name[row];
          return <option key={i} value={i}>{`${i}${name ? ` ${name}` : ""} (${shapeTextOf(graph, row)})`}</option>;
        })}
      </select>
    </label>
  );
}
