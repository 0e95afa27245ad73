// What the user chose in the heat map, and its part of a link.

import { signal, type Signal } from "@preact/signals";
import { AREA_SORTS, BY_PLACE, type AreaOrder } from "../../../model/flow/area_table";
import { FORWARD_ORDER, isInTree, SORTS, type RowOrder } from "../../../model/flow/flow_order";
import { EVERYTHING, type FlowWindow } from "../../../model/flow/flow_window";
import { listed, type LinkEntry } from "../../../state/address";
import type { Store } from "../../../state/store";

// A part of the map: all rows between two, in the order that is shown, and all steps between two.
export interface Area {
  readonly first: string; // id of a row
  readonly last: string;
  readonly from: number; // a step
  readonly to: number; // the last step in it
}

export interface FlowState {
  readonly store: Store;
  readonly open: Signal<ReadonlySet<string> | undefined>; // ids of groups whose rows are shown; undefined: not chosen yet
  readonly window: Signal<FlowWindow>; // the part that is in sight
  readonly openedFirst: Signal<ReadonlySet<string> | undefined>; // `open`, as long as it is not chosen
  readonly rested: Signal<FlowWindow>; // the same when it rests, for links
  readonly linked: Signal<string | undefined>; // the cursor of a link that says what is in sight: it is not brought into sight
  readonly scalarTag: Signal<string | undefined>; // the line above it: a scalar's tag, or a quantity; undefined: the loss, if one is found
  readonly order: Signal<RowOrder>;
  readonly pins: Signal<readonly string[]>; // ids of rows that stay above the others
  readonly area: Signal<Area | undefined>;
  readonly areaOrder: Signal<AreaOrder>; // of its table
  readonly anchor: Signal<{ readonly id: string; readonly step: number } | undefined>; // the area extends from here to the cursor
}

export const MOST_PINNED_ROWS = 8;

export function createFlowState(store: Store): FlowState {
  return {
    store,
    open: signal<ReadonlySet<string> | undefined>(undefined),
    window: signal<FlowWindow>(EVERYTHING),
    openedFirst: signal<ReadonlySet<string> | undefined>(undefined),
    rested: signal<FlowWindow>(EVERYTHING),
    linked: signal<string | undefined>(undefined),
    scalarTag: signal<string | undefined>(undefined),
    order: signal(FORWARD_ORDER),
    pins: signal<readonly string[]>([]),
    area: signal<Area | undefined>(undefined),
    areaOrder: signal(BY_PLACE),
    anchor: signal(undefined),
  };
}

export function writeFlowLink({ scalarTag, order, pins, area, areaOrder, open, openedFirst, rested }: FlowState): readonly LinkEntry[] {
  const { columns, top, rowPx } = rested.value;
  const opened = open.value === openedFirst.value ? undefined : open.value;
  const { by, descending, below } = order.value;
  const { first, last, from, to } = area.value ?? {};
  const table = areaOrder.value;
  return [
    ["scalar", scalarTag.value],
    ["flow.open", opened && listed([...opened])],
    ["flow.columns", columns?.map((end) => Number(end.toFixed(2))).join(":")],
    [
      "flow.rows",
      top === 0 && rowPx === undefined
        ? undefined
        : [top, ...(rowPx === undefined ? [] : [rowPx])].map((part) => Number(part.toFixed(3))).join(":"),
    ],
    ["flow.sort", isInTree(order.value) ? undefined : wordsOf(by, descending)],
    ["flow.below", by === "below" ? below : undefined],
    ["flow.pins", listed(pins.value)],
    ["flow.area", area.value === undefined ? undefined : listed([`${from}:${to}`, first!, last!])],
    ["flow.table", area.value === undefined || table === BY_PLACE ? undefined : wordsOf(table.by, table.descending)],
  ];
}

export function readFlowLink(state: FlowState, values: ReadonlyMap<string, string>): void {
  const list = (name: string): readonly string[] => (values.get(name) ?? "").split("\n").filter((one) => one !== "");
  state.scalarTag.value = values.get("scalar");
  readSight(state, values, list("flow.open"));
  state.order.value = orderIn(values.get("flow.sort"), Number(values.get("flow.below")));
  if (state.pins.peek().join("\n") !== list("flow.pins").join("\n")) state.pins.value = list("flow.pins").slice(0, MOST_PINNED_ROWS);
  state.area.value = areaIn(list("flow.area"));
  state.areaOrder.value = sortIn(values.get("flow.table"), AREA_SORTS) ?? BY_PLACE;
}

// Without it, what is in sight stays.
function readSight({ window, open, linked }: FlowState, values: ReadonlyMap<string, string>, opened: readonly string[]): void {
  const numbers = (name: string): readonly number[] | undefined => {
    const parts = values.get(name)?.split(":").map(Number);
    return parts?.every((part) => Number.isFinite(part) && part >= 0) ? parts : undefined;
  };
  const [columns, rows] = [numbers("flow.columns"), numbers("flow.rows")];
  const [from, to] = columns ?? [];
  const [top = 0, rowPx] = rows ?? [];
  if (opened.length > 0) open.value = new Set(opened);
  linked.value = columns === undefined && rows === undefined ? undefined : cursorText(values.get("sel"), values.get("step"));
  if (linked.value === undefined) return;
  window.value = { columns: from !== undefined && to !== undefined && from < to ? [from, to] : undefined, top, rowPx };
}

export function cursorText(selected: string | undefined, step: number | string | undefined): string {
  return `${selected ?? ""}\n${step ?? ""}`;
}

const wordsOf = (by: string, descending: boolean): string => `${by}.${descending ? "down" : "up"}`;

function sortIn<S extends string>(text: string | undefined, sorts: readonly S[]): { by: S; descending: boolean } | undefined {
  const [name, way] = (text ?? "").split(".");
  const by = sorts.find((one) => one === name);
  return by && { by, descending: way === "down" };
}

function orderIn(text: string | undefined, below: number): RowOrder {
  const sort = sortIn(text, SORTS);
  return sort === undefined ? FORWARD_ORDER : { ...sort, below: below > 0 && Number.isFinite(below) ? below : FORWARD_ORDER.below };
}

function areaIn([span, first, last]: readonly string[]): Area | undefined {
  const [from, to] = (span ?? "").split(":").map(Number);
  if (first === undefined || last === undefined || !Number.isSafeInteger(from) || !Number.isSafeInteger(to)) return undefined;
  return { first, last, from: from!, to: to! };
}
