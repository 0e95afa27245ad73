// The canvas of the heat map: pointer, wheel, and at most one paint per frame.

import { batch, effect } from "@preact/signals";
import { Disposer, listen } from "../../base/disposer";
import type { Point, Rect } from "../../base/geometry";
import { paintCells } from "../../draw/flow/paint_cells";
import { fromPx, panSpan, seekSpan, unitAt } from "../../model/flow/flow_window";
import { goToStep } from "../../state/actions";
import type { Store } from "../../state/store";
import { followSize, Frames, opaqueContext } from "../picture/live_canvas";
import type { Drawing } from "../session/drawing";
import { showEverything, zoomColumns, zoomRows } from "./flow_actions";
import { brushedWindow, brushRect } from "./flow_brush";
import type { Flowing, Sight } from "./flow_data";
import { paintOver } from "./flow_paint";

const DRAG_FROM_PX = 4;
const WHEEL = 0.0016;
const MOST_PIXELS = 6_000_000;

export interface PointedCell {
  readonly pointScreen: Point;
  readonly column: number; // -1: beside the columns
  readonly row: number; // -1: on the line above
}

interface Drag {
  readonly from: Point;
  readonly pans: boolean;
  readonly sight: Sight;
  to: Point;
  moved: boolean;
}

export class FlowCanvas {
  private readonly disposer = new Disposer();
  private readonly context: CanvasRenderingContext2D;
  private image: ImageData | undefined;
  private painted: readonly unknown[] = [];
  private pointed: PointedCell | undefined;
  private drag: Drag | undefined;
  private readonly frames = new Frames(() => this.paintNow());
  private ratio = 1;

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly store: Store,
    private readonly drawing: Drawing,
    private readonly flowing: Flowing,
    private readonly onPoint: (pointed: PointedCell | undefined) => void,
  ) {
    this.context = opaqueContext(canvas);
    this.watchSize();
    this.watchPointer();
    this.disposer.add(listen<WheelEvent>(canvas, "wheel", (event) => this.turn(event), { passive: false }));
    this.disposer.add(
      effect(() => {
        // Reads every signal that a frame depends on, so that a change requests a frame.
        void [
          flowing.cells.value,
          flowing.sight.value,
          flowing.scalar.line.value,
          flowing.cursor.position.value,
          flowing.cursor.row.value,
          drawing.theme.value,
          store.recorded.badSteps.value,
        ];
        this.frames.request();
      }),
    );
    this.disposer.add(effect(() => this.seek(flowing.cursor.column.value, flowing.cursor.row.value)));
  }

  close(): void {
    this.frames.cancel();
    this.disposer.dispose();
  }

  // Makes the cursor visible when the cursor moved, but not when the user moved the map away from it.
  private seek(column: number, row: number): void {
    const { columns, rows } = this.flowing.sight.peek();
    const now = this.flowing.state.window.peek();
    const wide = column === -1 ? undefined : seekSpan(columns, column);
    const high = row === -1 ? undefined : seekSpan(rows, row);
    if (wide === undefined && high === undefined) return;
    this.flowing.state.window.value = { columns: wide ?? now.columns, rows: high ?? now.rows };
  }

  private watchSize(): void {
    const measure = (): void => {
      const { clientWidth: width, clientHeight: height } = this.canvas;
      if (width === 0 || height === 0) return;
      this.ratio = Math.min(window.devicePixelRatio, Math.sqrt(MOST_PIXELS / (width * height)));
      this.canvas.width = Math.round(width * this.ratio);
      this.canvas.height = Math.round(height * this.ratio);
      this.image = undefined;
      this.flowing.size.value = { width, height };
      this.paintNow();
    };
    this.disposer.add(followSize(this.canvas, measure));
  }

  private watchPointer(): void {
    const { canvas, disposer } = this;
    disposer.add(
      listen<PointerEvent>(canvas, "pointerdown", (event) => {
        if (event.button > 1) return;
        const point = { x: event.offsetX, y: event.offsetY };
        this.drag = { from: point, to: point, pans: event.shiftKey || event.button === 1, sight: this.flowing.sight.peek(), moved: false };
        capture(canvas, event.pointerId);
      }),
    );
    disposer.add(
      listen<PointerEvent>(canvas, "pointermove", (event) => {
        this.point(event.offsetX, event.offsetY);
        if (this.drag !== undefined) this.pull(this.drag, { x: event.offsetX, y: event.offsetY });
      }),
    );
    disposer.add(listen<PointerEvent>(canvas, "pointerup", () => this.drop()));
    disposer.add(listen(canvas, "pointercancel", () => this.give()));
    disposer.add(listen(canvas, "pointerleave", () => this.point(-1, -1)));
    disposer.add(listen(canvas, "dblclick", () => showEverything(this.flowing.state)));
  }

  private pull(drag: Drag, to: Point): void {
    drag.to = to;
    drag.moved ||= Math.hypot(to.x - drag.from.x, to.y - drag.from.y) > DRAG_FROM_PX;
    if (!drag.moved) return;
    this.canvas.style.cursor = drag.pans ? "grabbing" : "crosshair";
    if (drag.pans) {
      const { columns, rows } = drag.sight;
      this.flowing.state.window.value = {
        columns: panSpan(columns, (drag.from.x - to.x) / columns.unitPx),
        rows: panSpan(rows, (drag.from.y - to.y) / rows.unitPx),
      };
    }
    this.frames.request();
  }

  private drop(): void {
    const drag = this.drag;
    if (drag === undefined) return;
    const brush = this.brush();
    this.give();
    if (!drag.moved) this.choose(drag.from);
    if (brush !== undefined)
      this.flowing.state.window.value = brushedWindow(brush, this.flowing.sight.peek(), this.flowing.state.window.peek());
  }

  private give(): void {
    this.drag = undefined;
    this.canvas.style.cursor = "";
    this.frames.request();
  }

  private brush(): Rect | undefined {
    const { drag } = this;
    return drag === undefined || !drag.moved || drag.pans ? undefined : brushRect(drag.from, drag.to, this.flowing.sight.peek().map);
  }

  private choose(point: Point): void {
    const { column, row } = this.cellAt(point);
    const { flowing, store } = this;
    batch(() => {
      if (row !== -1) store.shown.selected.value = flowing.rows.peek()[row]!.id;
      const step = flowing.flow.peek()?.steps[column];
      if (step !== undefined) goToStep(store, step, store.place.ref.peek()?.backwardPass);
    });
  }

  private turn(event: WheelEvent): void {
    event.preventDefault();
    const { columns, rows, map } = this.flowing.sight.peek();
    const { state } = this.flowing;
    const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 33 : 1;
    const [dx, dy] = [event.deltaX * pixels, event.deltaY * pixels];
    // With Shift, browsers report a vertical wheel as a horizontal one.
    if (event.shiftKey) zoomRows(state, rows, Math.exp(-(dy || dx) * WHEEL), fromPx(rows, event.offsetY - map.y));
    else if (Math.abs(dx) > Math.abs(dy)) state.window.value = { ...state.window.peek(), columns: panSpan(columns, dx / columns.unitPx) };
    else zoomColumns(state, columns, Math.exp(-dy * WHEEL), fromPx(columns, event.offsetX));
  }

  private cellAt({ x, y }: Point): { readonly column: number; readonly row: number } {
    const { columns, rows, map } = this.flowing.sight.peek();
    return { column: unitAt(columns, x), row: y < map.y || y >= map.y + map.height ? -1 : unitAt(rows, y - map.y) };
  }

  private point(x: number, y: number): void {
    const { column, row } = this.cellAt({ x, y });
    const inside = x >= 0 && column !== -1 && this.drag?.moved !== true;
    if (!inside && this.pointed === undefined) return;
    this.pointed = inside ? { pointScreen: { x, y }, column, row } : undefined;
    this.onPoint(this.pointed);
    this.frames.request();
  }

  private paintNow(): void {
    const { flowing, context, ratio, canvas } = this;
    const theme = this.drawing.theme.peek();
    const sight = flowing.sight.peek();
    const { columns, rows, map } = sight;
    if (map.width === 0 || map.height === 0) return;
    const began = performance.now();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = theme.background;
    context.fillRect(0, 0, map.width, canvas.height / ratio);
    this.putCells(sight);
    paintOver(context, this.store, flowing, theme, { pointed: this.pointed, brush: this.brush() });
    canvas.dataset.columns = [columns.from, columns.to, columns.unitPx, columns.count].map(short).join();
    canvas.dataset.rows = [rows.from, rows.to, rows.unitPx, rows.count].map(short).join();
    canvas.dataset.map = [map.x, map.y, map.width, map.height].map(short).join();
    performance.measure("gradgraph:flow-frame", { start: began, end: performance.now() });
  }

  // Cells are computed again only when they moved or changed. A moving cursor costs only a copy.
  private putCells({ columns, rows, map }: Sight): void {
    const cells = this.flowing.cells.peek();
    if (cells === undefined) return;
    const [width, height] = [Math.round(map.width * this.ratio), Math.round(map.height * this.ratio)];
    const palette = this.flowing.palette.peek();
    const now = [cells, columns, rows, palette, width, height];
    if (this.image?.width !== width || this.image.height !== height) this.image = this.context.createImageData(width, height);
    else if (now.every((one, i) => one === this.painted[i]))
      return this.context.putImageData(this.image, 0, Math.round(map.y * this.ratio));
    this.painted = now;
    paintCells(this.image, cells, columns, rows, this.ratio, palette);
    this.context.putImageData(this.image, 0, Math.round(map.y * this.ratio));
  }
}

function short(value: number): string {
  return String(Number(value.toFixed(4)));
}

// A synthetic pointer of a test cannot be captured.
function capture(canvas: HTMLCanvasElement, pointer: number): void {
  try {
    canvas.setPointerCapture(pointer);
  } catch {
    // Then the drag ends at the edge.
  }
}
