// The table of the chosen part of the heat map, below it.

import type { JSX } from "preact";
import { csvOf } from "../../../base/csv";
import { formatCount, formatNumber } from "../../../base/format";
import { areaCsv, areaRows, sortArea, type AreaRow, type AreaSort } from "../../../model/flow/area_table";
import type { Flow } from "../../../model/flow/flow";
import { isCompared } from "../../../model/flow/flow_compared";
import { isLogarithmic } from "../../../model/flow/row_numbers";
import { goToStep } from "../../../state/actions";
import type { Store } from "../../../state/store";
import { CloseIcon, IconButton } from "../../controls/icons";
import { saveFile } from "../../picture/download";
import { nameOf } from "../../picture/picture";
import { endArea } from "../data/flow_area";
import type { Flowing } from "../data/flow_data";
import { flatTitle } from "../data/flow_words";

// More rows than one reads; the CSV has all.
const MOST_ROWS = 200;

export interface AreaProps {
  readonly store: Store;
  readonly flowing: Flowing;
  toCharts(ids: readonly string[]): void;
}

export function AreaPanel({ store, flowing, toCharts }: AreaProps): JSX.Element | null {
  const [flow, cells, order] = [flowing.flow.value, flowing.selection.value, flowing.state.areaOrder.value];
  if (flow === undefined || cells === undefined) return null;
  const rows = sortArea(areaRows(flow, flowing.rows.value, cells.rows, cells.columns), order);
  const [from, to] = [flow.steps[cells.columns[0]]!, flow.steps[cells.columns[1] - 1]!];
  const count = cells.columns[1] - cells.columns[0];
  return (
    <section
      class="flow-area"
      data-testid="flow-area"
      aria-label="Numbers of the selected rows and steps"
      data-from={from}
      data-to={to}
      data-rows={rows.length}
    >
      <header>
        <b>
          {formatCount(rows.length)} row{rows.length === 1 ? "" : "s"}, {from === to ? `step ${from}` : `steps ${from}–${to}`}
        </b>
        <span class="faint">{formatCount(count)} recorded</span>
        <span class="spring" />
        <button
          type="button"
          class="action"
          data-testid="area-zoom"
          onClick={() => (flowing.state.window.value = { ...flowing.state.window.peek(), columns: cells.columns })}
        >
          Show these steps
        </button>
        <button type="button" class="action" data-testid="area-csv" onClick={() => saveCsv(store, flow, rows)}>
          CSV
        </button>
        <button
          type="button"
          class="action"
          data-testid="area-charts"
          title="Draws these rows as lines, as many as fit into one chart"
          onClick={() => toCharts(rows.map(({ row }) => row.id))}
        >
          To Charts
        </button>
        <IconButton id="area-close" label="End the selection (Esc)" onClick={() => endArea(flowing.state)}>
          <CloseIcon />
        </IconButton>
      </header>
      <div class="flow-table" tabIndex={0} role="region" aria-label="Table of the selection">
        <AreaTable store={store} flowing={flowing} flow={flow} rows={rows} steps={to - from} />
      </div>
    </section>
  );
}

function AreaTable({
  store,
  flowing,
  flow,
  rows,
  steps,
}: {
  readonly store: Store;
  readonly flowing: Flowing;
  readonly flow: Flow;
  readonly rows: readonly AreaRow[];
  readonly steps: number;
}): JSX.Element {
  const median = isCompared(flow) ? "Median ratio" : `Median ${flow.statistic.label}`;
  const left = rows.length - MOST_ROWS;
  return (
    <table>
      <thead>
        <tr>
          <Heading flowing={flowing} by="place" text="Layer" />
          <Heading flowing={flowing} by="median" text={median} />
          <Heading flowing={flowing} by="slope" text="Slope over these steps" />
          <Heading flowing={flowing} by="bad" text="First NaN or inf" />
        </tr>
      </thead>
      <tbody>
        {rows.slice(0, MOST_ROWS).map((one) => (
          <Line key={one.row.id} store={store} flow={flow} line={one} steps={steps} />
        ))}
      </tbody>
      {left > 0 && (
        <tfoot>
          <tr>
            <td colSpan={4}>{formatCount(left)} more rows are in the CSV.</td>
          </tr>
        </tfoot>
      )}
    </table>
  );
}

function Heading({ flowing, by, text }: { readonly flowing: Flowing; readonly by: AreaSort; readonly text: string }): JSX.Element {
  const { areaOrder } = flowing.state;
  const { by: shown, descending } = areaOrder.value;
  const isShown = shown === by;
  return (
    <th scope="col" aria-sort={isShown ? (descending ? "descending" : "ascending") : "none"}>
      <button
        type="button"
        data-testid={`area-by-${by}`}
        onClick={() => (areaOrder.value = { by, descending: isShown ? !descending : by === "median" })}
      >
        {text}
        <span aria-hidden="true">{isShown ? (descending ? " ↓" : " ↑") : ""}</span>
      </button>
    </th>
  );
}

function Line({
  store,
  flow,
  line,
  steps,
}: {
  readonly store: Store;
  readonly flow: Flow;
  readonly line: AreaRow;
  readonly steps: number;
}): JSX.Element {
  const { row, median, slope, firstBad } = line;
  return (
    <tr data-key={row.id} data-median={median} data-slope={slope} data-bad={firstBad}>
      <th scope="row">
        <button type="button" class="link" onClick={() => (store.shown.selected.value = row.id)}>
          <bdi>{flatTitle(flow.hierarchy, row)}</bdi>
        </button>
      </th>
      <td>{Number.isNaN(median) ? "–" : `${isCompared(flow) ? "×" : ""}${formatNumber(median)}`}</td>
      <td title={Number.isNaN(slope) ? "" : `${formatNumber(slope)} per step${isLogarithmic(flow) ? ", of log10" : ""}`}>
        {slopeText(slope * steps, isLogarithmic(flow))}
      </td>
      <td>
        {firstBad === undefined ? (
          "–"
        ) : (
          <button type="button" class="link bad" onClick={() => goToStep(store, firstBad)}>
            step {firstBad}
          </button>
        )}
      </td>
    </tr>
  );
}

// From the beginning of the fitted line to its end: a factor on a log scale, or else a difference.
function slopeText(rise: number, log: boolean): string {
  if (Number.isNaN(rise)) return "–";
  return log ? `×${formatNumber(10 ** rise)}` : formatNumber(rise);
}

function saveCsv(store: Store, flow: Flow, rows: readonly AreaRow[]): void {
  const text = csvOf(areaCsv(flow, rows, (row) => flatTitle(flow.hierarchy, row)));
  saveFile(`${nameOf(store, "flow-selection")}.csv`, new Blob([text], { type: "text/csv" }));
}
