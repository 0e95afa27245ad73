// The canvas of the heat map: at most one paint per frame.

import { effect } from "@preact/signals";
import { Disposer } from "../../base/disposer";
import { seekSpan, seekTop } from "../../model/flow/flow_window";
import { groupsAround, mostHeaders, nestingOf } from "../../model/flow/flow_headers";
import type { Store } from "../../state/store";
import { followSize, Frames, opaqueContext } from "../picture/live_canvas";
import type { Drawing } from "../session/drawing";
import type { Flowing } from "./data/flow_data";
import { cursorText } from "./data/flow_state";
import { pinnedAxis, type PointedCell } from "./data/flow_sight";
import { watchGestures, type Gestures } from "./flow_gestures";
import { CellBand, paintOver } from "./flow_paint";

const MOST_PIXELS = 6_000_000;

export class FlowCanvas {
  private readonly disposer = new Disposer();
  private readonly context: CanvasRenderingContext2D;
  private readonly bands = { pinned: new CellBand(), map: new CellBand() };
  private readonly frames = new Frames(() => this.paintNow());
  private readonly gestures: Gestures;
  private ratio = 1;

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly store: Store,
    private readonly drawing: Drawing,
    private readonly flowing: Flowing,
    onPoint: (pointed: PointedCell | undefined) => void,
  ) {
    this.context = opaqueContext(canvas);
    this.gestures = watchGestures(canvas, store, flowing, () => this.frames.request(), onPoint);
    this.disposer.add(this.gestures.close);
    this.watchSize();
    this.disposer.add(
      effect(() => {
        // Reads every signal that a frame depends on, so that a change requests a frame.
        void [
          flowing.cells.value,
          flowing.pinnedCells.value,
          flowing.sight.value,
          flowing.scalar.line.value,
          flowing.cursor.position.value,
          flowing.cursor.row.value,
          flowing.selection.value,
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
    const { columns, rows, map } = this.flowing.sight.peek();
    const { window, linked } = this.flowing.state;
    const now = window.peek();
    if (linked.peek() !== undefined) {
      if (column === -1 || linked.peek() === cursorText(this.store.shown.selected.peek(), this.store.place.ref.peek()?.step)) return;
      linked.value = undefined;
    }
    const wide = column === -1 ? undefined : seekSpan(columns, column);
    const top = row === -1 || map.height === 0 ? undefined : seekTop(rows, row, this.headersOver(row));
    if (wide === undefined && top === undefined) return;
    window.value = { ...now, columns: wide ?? now.columns, top: top ?? now.top };
  }

  private headersOver(row: number): number {
    const rows = this.flowing.rows.peek();
    return Math.min(groupsAround(nestingOf(rows), row).length, mostHeaders(this.flowing.sight.peek().rows));
  }

  private watchSize(): void {
    const measure = (): void => {
      const { clientWidth: width, clientHeight: height } = this.canvas;
      if (width === 0 || height === 0) return;
      this.ratio = Math.min(window.devicePixelRatio, Math.sqrt(MOST_PIXELS / (width * height)));
      this.canvas.width = Math.round(width * this.ratio);
      this.canvas.height = Math.round(height * this.ratio);
      const first = this.flowing.size.peek().height === 0;
      this.flowing.size.value = { width, height };
      if (first) this.seek(-1, this.flowing.cursor.row.peek());
      this.paintNow();
    };
    this.disposer.add(followSize(this.canvas, measure));
  }

  private paintNow(): void {
    const { flowing, context, ratio, canvas } = this;
    const theme = this.drawing.theme.peek();
    const sight = flowing.sight.peek();
    const { columns, rows, map, pinned } = sight;
    if (map.width === 0 || map.height === 0) return;
    const began = performance.now();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = theme.background;
    context.fillRect(0, 0, map.width, canvas.height / ratio);
    const palette = flowing.palette.peek();
    this.bands.map.put(context, { cells: flowing.cells.peek(), columns, rows, rect: map, ratio, palette });
    const fixed = pinnedAxis(sight);
    this.bands.pinned.put(context, { cells: flowing.pinnedCells.peek(), columns, rows: fixed, rect: pinned, ratio, palette });
    paintOver(context, this.store, flowing, theme, this.gestures.hand());
    canvas.dataset.columns = [columns.from, columns.to, columns.unitPx, columns.count].map(short).join();
    canvas.dataset.rows = [rows.from, rows.to, rows.unitPx, rows.count].map(short).join();
    canvas.dataset.map = [map.x, map.y, map.width, map.height].map(short).join();
    canvas.dataset.covered = short(sight.coveredPx);
    performance.measure("gradgraph:flow-frame", { start: began, end: performance.now() });
  }
}

function short(value: number): string {
  return String(Number(value.toFixed(4)));
}
