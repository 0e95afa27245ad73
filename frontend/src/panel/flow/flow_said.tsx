// What is said of a cell: at the pointer, and to screen readers at the cursor.

import type { JSX } from "preact";
import { formatNumber } from "../../base/format";
import type { Flow } from "../../model/flow/flow";
import { valueAt } from "../../model/flow/scalar_line";
import { badWords } from "../../model/recorded/bad_steps";
import type { Store } from "../../state/store";
import type { Flowing } from "./data/flow_data";
import type { PointedCell } from "./data/flow_sight";
import { cellSentence, fullTitle } from "./data/flow_words";

const TOOLTIP_PX = 280;

export function CellTooltip({
  store,
  flowing,
  pointed,
  widthPx,
}: {
  readonly store: Store;
  readonly flowing: Flowing;
  readonly pointed: PointedCell;
  readonly widthPx: number;
}): JSX.Element | null {
  const flow = flowing.flow.value;
  const step = flow?.steps[pointed.column];
  if (flow === undefined || step === undefined) return null;
  const { row } = pointed;
  const series = flowing.scalar.line.value?.series;
  const logged = series === undefined ? undefined : valueAt(series, step);
  const bad = badIn(store, flow, pointed.column);
  const { x, y } = pointed.pointScreen;
  const left = x + 16 + TOOLTIP_PX > widthPx ? x - 12 - TOOLTIP_PX : x + 16;
  return (
    <div
      class="tooltip flow-tooltip"
      data-testid="flow-tooltip"
      role="tooltip"
      style={{ left: `${Math.max(4, left)}px`, top: `${y + 14}px`, maxWidth: `${TOOLTIP_PX}px` }}
    >
      {row !== undefined && <div class="tooltip-title">{fullTitle(flow.hierarchy, row)}</div>}
      <div>
        step {step}
        {row !== undefined && (
          <>
            : <b>{cellSentence(flow, row, pointed.column)}</b>
          </>
        )}
      </div>
      {bad !== "" && <div class="bad">{bad}</div>}
      {series !== undefined && logged !== undefined && (
        <div>
          {series.tag} {formatNumber(logged)}
        </div>
      )}
    </div>
  );
}

function badIn(store: Store, { steps }: Flow, column: number): string {
  return column < 0 ? "" : badWords(store.recorded.badSteps.value, store.place.tag.value?.records ?? [], steps, column);
}

// The cell at the cursor, for screen readers: announced when it changes.
export function Said({ store, flowing }: { readonly store: Store; readonly flowing: Flowing }): JSX.Element {
  const flow = flowing.flow.value;
  const row = flowing.rows.value[flowing.cursor.row.value];
  const ref = store.place.ref.value;
  const bad = flow === undefined ? "" : badIn(store, flow, flowing.cursor.column.value);
  const sentence =
    flow === undefined || ref === undefined || row === undefined
      ? ""
      : `${fullTitle(flow.hierarchy, row)}, step ${ref.step}: ${cellSentence(flow, row, flowing.cursor.column.value)}${bad === "" ? "" : `. ${bad}`}`;
  return (
    <div class="visually-hidden" data-testid="flow-said" role="status" aria-live="polite">
      {sentence}
    </div>
  );
}
