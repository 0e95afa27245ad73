// The names of the heat map's rows: a tree grid with the number of each at the chosen step.
//
// Each named row is one `div[role=row]`, data-key, data-row (its place among all rows), data-value (as written),
// aria-level, aria-expanded, aria-selected, aria-rowindex. Other data-testid of the view: flow flow-canvas (data-columns
// and data-rows: from, to, pixels of one, count; data-map: x, y, width, height) flow-rows flow-tooltip flow-said
// scalar scalar-value flow-legend flow-reset flow-told.

import type { JSX } from "preact";
import type { Flow } from "../../model/flow/flow";
import type { FlowRow } from "../../model/flow/flow_rows";
import { LABEL_PX, namePx, panSpan, rowsWithNames } from "../../model/flow/flow_window";
import type { Store } from "../../state/store";
import { toggleRows } from "./flow_actions";
import type { Flowing } from "./flow_data";
import { cellText, fullTitle, rowTitle } from "./flow_words";

const INDENT_PX = 13;
// Rows of less height have smaller names.
const SMALL_BELOW_PX = 15;

export function FlowTree({ store, flowing }: { readonly store: Store; readonly flowing: Flowing }): JSX.Element | null {
  const flow = flowing.flow.value;
  const [rows, selected, { rows: axis, map }] = [flowing.rows.value, flowing.cursor.row.value, flowing.sight.value];
  if (flow === undefined) return <div class="flow-rows" />;
  const named = rowsWithNames(rows.map(rankOf), axis, selected);
  return (
    <div
      class="flow-rows"
      data-testid="flow-rows"
      role="treegrid"
      tabIndex={0}
      aria-label="Modules and nodes in forward order"
      aria-rowcount={rows.length}
      aria-colcount={2}
      aria-activedescendant={named.includes(selected) ? `gradgraph-flow-${selected}` : undefined}
      onWheel={(event) => {
        event.preventDefault();
        flowing.state.window.value = { ...flowing.state.window.peek(), rows: panSpan(axis, event.deltaY / axis.unitPx) };
      }}
    >
      {named.map((index) => (
        <Row
          key={rows[index]!.id}
          store={store}
          flowing={flowing}
          flow={flow}
          row={rows[index]!}
          index={index}
          middlePx={map.y + namePx(axis, index, map.height)}
          heightPx={Math.max(LABEL_PX, axis.unitPx)}
          selected={index === selected}
        />
      ))}
    </div>
  );
}

// Modules get their names before nodes do, outer modules first.
export function rankOf({ kind, depth }: FlowRow): number {
  return kind === "group" ? depth : 1000 + depth;
}

function Row({
  store,
  flowing,
  flow,
  row,
  index,
  middlePx,
  heightPx,
  selected,
}: {
  readonly store: Store;
  readonly flowing: Flowing;
  readonly flow: Flow;
  readonly row: FlowRow;
  readonly index: number;
  readonly middlePx: number;
  readonly heightPx: number;
  readonly selected: boolean;
}): JSX.Element {
  const { title, subtitle } = rowTitle(flow.hierarchy, row);
  const value = cellText(flow, row, flowing.cursor.column.value);
  const toggle = (): void => toggleRows(flowing.state, flowing.rows.peek(), flowing.sight.peek().rows, row.id);
  const kind = row.kind === "group" ? "group" : flow.hierarchy.graph.columns.nodes.kind[row.node]!;
  return (
    <div
      id={`gradgraph-flow-${index}`}
      class={`flow-row flow-${kind}${heightPx < SMALL_BELOW_PX ? " small" : ""}`}
      role="row"
      data-key={row.id}
      data-row={index}
      data-value={value}
      aria-level={row.depth + 1}
      aria-rowindex={index + 1}
      aria-selected={selected}
      {...(row.kind === "group" ? { "aria-expanded": row.open } : {})}
      style={{ top: `${middlePx - heightPx / 2}px`, height: `${heightPx}px`, paddingLeft: `${6 + INDENT_PX * row.depth}px` }}
      title={fullTitle(flow.hierarchy, row)}
      onClick={() => (store.shown.selected.value = row.id)}
      onDblClick={toggle}
    >
      <span
        class={`twist${row.open ? " open" : ""}`}
        aria-hidden="true"
        onClick={(event) => {
          if (row.kind !== "group") return;
          event.stopPropagation();
          toggle();
        }}
      >
        {row.kind === "group" && (
          <svg width="10" height="10" viewBox="0 0 10 10">
            <path d="M3 1.5 7 5 3 8.5" fill="none" stroke="currentColor" stroke-width="1.5" />
          </svg>
        )}
      </span>
      <span class="flow-name" role="rowheader">
        <bdi>{title}</bdi>
        {subtitle !== "" && <span class="faint"> {subtitle}</span>}
      </span>
      <span class={`flow-value${value.startsWith("NaN") ? " bad" : ""}`} role="gridcell">
        {value}
      </span>
    </div>
  );
}
