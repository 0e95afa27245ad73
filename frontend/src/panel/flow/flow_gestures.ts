// What the pointer and the wheel do over the heat map.

import { batch } from "@preact/signals";
import { Disposer, listen, type Dispose } from "../../base/disposer";
import type { Point, Rect } from "../../base/geometry";
import { brushSpan } from "../../model/flow/flow_window";
import { goToStep } from "../../state/actions";
import type { Store } from "../../state/store";
import { panColumns, scrollRows, showEverything, turnWheel } from "./data/flow_actions";
import { endArea, selectArea } from "./data/flow_area";
import type { Flowing } from "./data/flow_data";
import { spotAt, type PointedCell } from "./data/flow_sight";
import { brushedCells, brushOf, grip, type Grip } from "./flow_brush";
import type { Hand } from "./flow_paint";

export interface Gestures {
  hand(): Hand;
  readonly close: Dispose;
}

const DRAG_FROM_PX = 4;

interface Drag {
  readonly grip: Grip;
  readonly pans: boolean;
  last: Point;
  moved: boolean;
}

export function watchGestures(
  canvas: HTMLCanvasElement,
  store: Store,
  flowing: Flowing,
  repaint: () => void,
  onPoint: (pointed: PointedCell | undefined) => void,
): Gestures {
  const disposer = new Disposer();
  const { state } = flowing;
  let drag: Drag | undefined;
  let pointed: PointedCell | undefined;
  const spot = (point: Point) => spotAt(flowing.sight.peek(), flowing.rows.peek(), flowing.pinned.peek(), point);
  const pointAt = (point: Point | undefined): void => {
    const found = point === undefined || drag?.moved === true ? undefined : spot(point);
    if (found?.column === -1) return pointAt(undefined);
    if (found === undefined && pointed === undefined) return;
    pointed = found === undefined || point === undefined ? undefined : { ...found, pointScreen: point };
    onPoint(pointed);
    repaint();
  };
  const brush = (): Rect | undefined =>
    drag === undefined || !drag.moved || drag.pans ? undefined : brushOf(drag.grip, drag.last, flowing.sight.peek());
  const give = (): void => {
    drag = undefined;
    canvas.style.cursor = "";
    repaint();
  };
  const pull = (held: Drag, to: Point): void => {
    const before = held.last;
    held.moved ||= Math.hypot(to.x - before.x, to.y - before.y) > DRAG_FROM_PX;
    if (!held.moved) return;
    held.last = to;
    canvas.style.cursor = held.pans ? "grabbing" : "crosshair";
    const { columns, rows } = flowing.sight.peek();
    if (held.pans)
      batch(() => {
        panColumns(state, columns, before.x - to.x);
        scrollRows(state, rows, before.y - to.y);
      });
    repaint();
  };
  const drop = (): void => {
    const [held, rect] = [drag, brush()];
    give();
    if (held === undefined) return;
    if (!held.moved) choose(store, flowing, spot(held.last));
    else if (rect !== undefined) takeBrush(flowing, held.grip, rect, held.last);
  };
  const on = <E extends Event>(type: string, act: (event: E) => void): void => disposer.add(listen<E>(canvas, type, act));
  on<PointerEvent>("pointerdown", (event) => {
    if (event.button > 1) return;
    const point = { x: event.offsetX, y: event.offsetY };
    // A finger moves the map, as everywhere.
    const pans = event.shiftKey || event.button === 1 || event.pointerType === "touch";
    drag = { grip: grip(flowing.sight.peek(), point), pans, last: point, moved: false };
    capture(canvas, event.pointerId);
  });
  on<PointerEvent>("pointermove", (event) => {
    const point = { x: event.offsetX, y: event.offsetY };
    pointAt(point);
    if (drag !== undefined) pull(drag, point);
  });
  on("pointerup", drop);
  on("pointercancel", give);
  on("pointerleave", () => pointAt(undefined));
  on("dblclick", () => showEverything(state));
  disposer.add(
    listen<WheelEvent>(
      canvas,
      "wheel",
      (event) => {
        turnWheel(flowing, event, event.offsetX);
        pointAt({ x: event.offsetX, y: event.offsetY });
      },
      { passive: false },
    ),
  );
  disposer.add(listen<KeyboardEvent>(document, "keydown", ({ key }) => key === "Escape" && endArea(state)));
  return { hand: () => ({ pointed, brush: brush() }), close: () => disposer.dispose() };
}

function choose(store: Store, flowing: Flowing, { column, row }: { readonly column: number; readonly row: PointedCell["row"] }): void {
  batch(() => {
    if (row !== undefined) store.shown.selected.value = row.id;
    const step = flowing.flow.peek()?.steps[column];
    if (step !== undefined) goToStep(store, step, store.place.ref.peek()?.backwardPass);
  });
}

// A drag over cells selects them. Beside them, over the line or the numbers of the steps, it zooms.
function takeBrush({ state, sight, rows, flow }: Flowing, held: Grip, rect: Rect, last: Point): void {
  const { columns } = sight.peek();
  const { window } = state;
  if (held.row === -1) window.value = { ...window.peek(), columns: brushSpan(columns, rect.x, rect.x + rect.width) };
  else selectArea(state, flow.peek()?.steps ?? [], rows.peek(), brushedCells(held, last, sight.peek()));
}

// A synthetic pointer of a test cannot be captured.
function capture(canvas: HTMLCanvasElement, pointer: number): void {
  try {
    canvas.setPointerCapture(pointer);
  } catch {
    // Then the drag ends at the edge.
  }
}
