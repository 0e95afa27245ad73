// The card of one node.

import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { formatShape } from "../base/format";
import { nameOfNode } from "../draw/caption";
import { edgesOut, type Graph } from "../model/graph";
import { operationLabel } from "../model/labels";
import type { RecordedStep } from "../model/record";
import { Facts, type CardProps } from "./card";
import { History } from "./history";
import { Neighbors, Shares } from "./neighbors";
import { StatisticsTable } from "./statistics_table";
import { Matrix } from "./matrix";

export function NodeCard(props: CardProps & { readonly node: number }): JSX.Element {
  const { hierarchy, node, session } = props;
  const { graph } = hierarchy;
  const { columns } = graph;
  const [slot, setSlot] = useState(0);
  const slots = columns.nodes.slot_count[node]!;
  const row = graph.slotOffset[node]! + Math.min(slot, slots - 1);
  const record = currentRecord(session.store.record.value, graph);
  const operation = columns.nodes.operation[node]!;
  const title = nameOfNode(graph, node) || operationLabel(operation);
  return (
    <>
      <h2>
        {title}
        <span class={`kind kind-${columns.nodes.kind[node]}`}>{columns.nodes.kind[node]}</span>
      </h2>
      {columns.nodes.note[node] && <p class="note" data-testid="note">{columns.nodes.note[node]}</p>}
      {slots > 1 && <SlotPicker graph={graph} node={node} slot={slot} choose={setSlot} />}
      <Facts facts={[...factsOf(graph, node, row), ...aboutRoot(record, columns.nodes.kind[node])]} />
      {slots > 0 && (
        <>
          <Wholes record={record} graph={graph} row={row} />
          <StatisticsTable record={record} row={row} statistic={session.store.statistic.value} />
          <Shares {...props} row={row} record={record} edges={sharing(graph, node, row)} />
          <History session={session} drawing={props.drawing} row={row} />
        </>
      )}
      <Neighbors {...props} />
    </>
  );
}

export function currentRecord(record: RecordedStep | undefined, graph: Graph): RecordedStep | undefined {
  return record?.hash === graph.hash && record.rows === graph.rows ? record : undefined;
}

function sharing(graph: Graph, node: number, row: number): readonly number[] {
  const { source_slot: slotOf } = graph.columns.edges;
  return Array.from(edgesOut(graph, node)).filter((edge) => graph.slotOffset[node]! + slotOf[edge]! === row);
}

function factsOf(graph: Graph, node: number, row: number): readonly (readonly [string, string])[] {
  const { nodes, scopes, slots } = graph.columns;
  const scope = nodes.scope[node]!;
  const facts: (readonly [string, string | undefined])[] = [
    ["operation", nodes.operation[node]],
    ["module", scope === -1 ? undefined : `${scopes.path[scope] || scopes.module[scope]}#${scopes.call[scope]} (${scopes.module[scope]})`],
    ["shape", slots.shape[row] && formatShape(slots.shape[row]!)],
    ["dtype", slots.dtype[row]],
    ["is leaf", yesNo(nodes.is_leaf[node])],
    ["requires grad", yesNo(slots.requires_grad[row])],
    ["retains grad", yesNo(slots.retains_grad[row])],
    ["order", nodes.order[node] === 1 ? undefined : `${nodes.order[node]} (made while a backward ran)`],
    ["also named", nodes.aliases[node]?.join(", ")],
    ["source", nodes.source[node]],
    ["key", nodes.key[node]],
  ];
  return facts.filter((fact): fact is [string, string] => fact[1] !== undefined && fact[1] !== "");
}

// What was differentiated is told where the gradient starts.
function aboutRoot(record: RecordedStep | undefined, kind: string | undefined): readonly (readonly [string, string])[] {
  if (kind !== "root" || record === undefined) return [];
  return [["differentiated", record.objective || "itself"], ["stage", record.stage]];
}

function yesNo(value: boolean | undefined): string | undefined {
  return value === undefined ? undefined : value ? "yes" : "no";
}

function SlotPicker({ graph, node, slot, choose }: {
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
          return <option key={i} value={i}>{`${i}${name ? ` ${name}` : ""} (${formatShape(graph.columns.slots.shape[row] ?? [])})`}</option>;
        })}
      </select>
    </label>
  );
}

function Wholes({ record, graph, row }: {
  readonly record: RecordedStep | undefined;
  readonly graph: Graph;
  readonly row: number;
}): JSX.Element | null {
  const whole = record?.whole.get(row);
  if (whole === undefined) return null;
  const { shape, dtype } = graph.columns.slots;
  const parts = dtype[row]?.startsWith("complex") ? [...(shape[row] ?? []), 2] : (shape[row] ?? []);
  return (
    <div class="wholes">
      {whole.value && <Matrix title="value" id="whole-value" numbers={whole.value} shape={parts} />}
      {whole.gradient && <Matrix title="gradient" id="whole-gradient" numbers={whole.gradient} shape={parts} />}
    </div>
  );
}
