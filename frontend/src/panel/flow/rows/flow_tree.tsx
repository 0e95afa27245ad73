// The names of the heat map's rows: a tree grid with the number of each at the chosen step.
//
// Each row in sight is one `div[role=row]`, data-key, data-row (its place among all rows), data-value (as written),
// aria-level, aria-expanded, aria-selected, aria-rowindex; data-header if it stays at the top while what is inside is
// scrolled; data-pinned instead of data-row if it is pinned. Other data-testid of the view: flow flow-canvas
// (data-columns and data-rows: from, to, pixels of one, count; data-map: x, y, width, height; data-covered: pixels of the
// map under headers) flow-rows flow-scroll flow-order flow-reverse flow-below flow-lanes flow-tooltip flow-said scalar
// scalar-value flow-legend flow-reset flow-told.

import { useEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";
import { listen } from "../../../base/disposer";
import { rowsInSight, toPx } from "../../../model/flow/flow_window";
import type { Store } from "../../../state/store";
import { turnWheel } from "../data/flow_actions";
import type { Flowing } from "../data/flow_data";
import { PINNED_PX } from "../data/flow_sight";
import { NamedRow } from "./named_row";

export function FlowTree({ store, flowing }: { readonly store: Store; readonly flowing: Flowing }): JSX.Element {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (element.current === null) return undefined;
    // A listener of the framework would be passive, so that the page scrolled too.
    return listen<WheelEvent>(element.current, "wheel", (event) => turnWheel(flowing, event), { passive: false });
  }, []);
  const [rows, selected, sight] = [flowing.rows.value, flowing.cursor.row.value, flowing.sight.value];
  const { rows: axis, map, headers, pinned, coveredPx } = sight;
  const stays = new Set(headers.map(({ row }) => row));
  const inSight = rowsInSight(axis).filter((row) => !stays.has(row) && toPx(axis, row + 1) > coveredPx);
  const isSeen = selected !== -1 && (stays.has(selected) || inSight.includes(selected));
  const common = { store, flowing, heightPx: axis.unitPx };
  return (
    <div
      ref={element}
      id="gradgraph-flow-rows"
      class="flow-rows"
      data-testid="flow-rows"
      role="treegrid"
      tabIndex={0}
      aria-label="Modules and nodes in forward order"
      aria-rowcount={rows.length}
      aria-colcount={2}
      aria-activedescendant={isSeen ? `gradgraph-flow-${selected}` : undefined}
    >
      {pinned.height > 0 && (
        <div
          class="flow-pinned"
          role="rowgroup"
          aria-label="Pinned rows"
          style={{ top: `${pinned.y}px`, height: `${pinned.height + 2}px` }}
        >
          {flowing.pinned.value.slice(0, pinned.height / PINNED_PX).map((row, i) => (
            <NamedRow key={row.id} {...common} row={row} index={-1} topPx={i * PINNED_PX} heightPx={PINNED_PX} selected={false} />
          ))}
        </div>
      )}
      <div class="flow-scrolled" role="rowgroup" style={{ top: `${map.y}px`, height: `${map.height}px` }}>
        {inSight.map((index) => (
          <NamedRow
            key={rows[index]!.id}
            {...common}
            row={rows[index]!}
            index={index}
            topPx={toPx(axis, index)}
            selected={index === selected}
          />
        ))}
        {headers.map(({ row: index, topPx }, depth) => (
          <NamedRow
            key={rows[index]!.id}
            {...common}
            row={rows[index]!}
            index={index}
            topPx={topPx}
            selected={index === selected}
            header={headers.length - depth}
          />
        ))}
      </div>
    </div>
  );
}
