// The name of one row of the heat map, with its number, what opens it, and what pins it.

import type { JSX } from "preact";
import type { FlowRow } from "../../../model/flow/flow_rows";
import type { Store } from "../../../state/store";
import { PinIcon } from "../../controls/icons";
import { scrollTo, togglePin, toggleRows } from "../data/flow_actions";
import type { Flowing } from "../data/flow_data";
import { cellText, flatTitle, fullTitle, rowTitle } from "../data/flow_words";

const INDENT_PX = 13;
// Rows of less height have smaller names.
const SMALL_BELOW_PX = 15;

interface RowProps {
  readonly store: Store;
  readonly flowing: Flowing;
  readonly row: FlowRow;
  readonly index: number; // -1: it is pinned
  readonly topPx: number;
  readonly heightPx: number;
  readonly selected: boolean;
  readonly header?: number; // it stays at the top, over headers with a lower number
}

export function NamedRow({ store, flowing, row, index, topPx, heightPx, selected, header }: RowProps): JSX.Element | null {
  const flow = flowing.flow.value;
  if (flow === undefined) return null;
  const value = cellText(flow, row, flowing.cursor.column.value);
  const isTree = row.kind === "group" && row.isFlat !== true;
  const toggle = (): void => toggleRows(flowing.state, flowing.rows.peek(), row.id);
  const choose = (): void => {
    store.shown.selected.value = row.id;
    if (header !== undefined) scrollTo(flowing.state, flowing.sight.peek().rows, index - row.depth);
  };
  const kind = row.kind === "group" ? "group" : flow.hierarchy.graph.columns.nodes.kind[row.node]!;
  const look = `flow-row flow-${kind}${heightPx < SMALL_BELOW_PX ? " small" : ""}${row.isFlat ? " flat" : ""}${header === undefined ? "" : " header"}`;
  const place = index === -1 ? { "data-pinned": true } : { id: `gradgraph-flow-${index}`, "data-row": index, "aria-rowindex": index + 1 };
  return (
    <div
      {...place}
      class={look}
      role="row"
      data-key={row.id}
      data-value={value}
      data-header={header !== undefined || undefined}
      aria-level={row.depth + 1}
      aria-selected={selected}
      {...(isTree ? { "aria-expanded": row.open } : {})}
      style={{ top: `${topPx}px`, height: `${heightPx}px`, paddingLeft: `${6 + INDENT_PX * row.depth}px`, zIndex: header }}
      title={fullTitle(flow.hierarchy, row)}
      onClick={choose}
      onDblClick={toggle}
    >
      <Twist isTree={isTree} open={row.open} toggle={toggle} />
      <Name flowing={flowing} row={row} />
      <span class={`flow-value${value.startsWith("NaN") ? " bad" : ""}`} role="gridcell">
        {value}
        <Pin flowing={flowing} row={row} />
      </span>
    </div>
  );
}

function Twist({ isTree, open, toggle }: { readonly isTree: boolean; readonly open: boolean; readonly toggle: () => void }): JSX.Element {
  return (
    <span
      class={`twist${open ? " open" : ""}`}
      aria-hidden="true"
      onClick={(event) => {
        if (!isTree) return;
        event.stopPropagation();
        toggle();
      }}
    >
      {isTree && (
        <svg width="10" height="10" viewBox="0 0 10 10">
          <path d="M3 1.5 7 5 3 8.5" fill="none" stroke="currentColor" stroke-width="1.5" />
        </svg>
      )}
    </span>
  );
}

// A flat row has the modules around it in its name. Its end tells it from others, so the beginning is cut off.
function Name({ flowing, row }: { readonly flowing: Flowing; readonly row: FlowRow }): JSX.Element {
  const { hierarchy } = flowing.flow.value!;
  const { title, subtitle } = rowTitle(hierarchy, row);
  if (row.isFlat)
    return (
      <span class="flow-name" role="rowheader">
        <bdi dir="ltr">{flatTitle(hierarchy, row)}</bdi>
      </span>
    );
  return (
    <span class="flow-name" role="rowheader">
      <bdi>{title}</bdi>
      {subtitle !== "" && <span class="faint"> {subtitle}</span>}
    </span>
  );
}

// Not a stop of the Tab key in every row: P does the same for the selected one.
function Pin({ flowing, row }: { readonly flowing: Flowing; readonly row: FlowRow }): JSX.Element | null {
  const isPinned = flowing.state.pins.value.includes(row.id);
  const label = isPinned ? "Unpin (P)" : "Pin above the other rows (P)";
  return (
    <button
      type="button"
      class="flow-pin"
      tabIndex={-1}
      aria-pressed={isPinned}
      aria-label={label}
      title={label}
      onClick={(event) => {
        event.stopPropagation();
        togglePin(flowing.state, row.id);
      }}
    >
      <PinIcon />
    </button>
  );
}
