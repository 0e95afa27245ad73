// Zooms and moves a chart: by the wheel, by dragging, by a box, and by keys. A double click shows all again.

import type uPlot from "uplot";
import { Disposer, listen, type Dispose } from "../../base/disposer";
import { keptWithin, movedBy, partOf, zoomedAround, type Ends } from "../../model/charts/zoom_range";
import type { ChartProps, Zoom } from "./chart_props";

const PER_PIXEL = 0.0016;
const LINE_PX = 16; // of wheels that count lines
const PRESS_PX = 4; // a press that moves less is a click
const SETTLED_MS = 160; // after the last turn of a wheel
const KEY_FACTOR = 0.8;
const KEY_PART = 0.15;
const LEAST_STEPS = 2;

export interface Gestures {
  readonly zoom: () => Zoom;
  // Shows a part of the chart, without telling anybody.
  show(zoom: Zoom): void;
  press(event: KeyboardEvent): boolean; // whether the key meant something
  readonly isDragged: () => boolean; // the click that follows is the end of a drag
  readonly close: Dispose;
}

type Axis = "x" | "y";

export function zoomChart(plot: uPlot, latest: { readonly current: ChartProps }): Gestures {
  const disposer = new Disposer();
  let zoom: Zoom = latest.current.zoom ?? {};
  let dragged = false;
  let settling: ReturnType<typeof setTimeout> | undefined;
  const isLog = (axis: Axis): boolean => axis === "y" && latest.current.log;
  const endsOf = (axis: Axis): Ends => zoom[axis] ?? [plot.scales[axis]!.min ?? 0, plot.scales[axis]!.max ?? 1];
  const allSteps = (): Ends => {
    const steps = plot.data[0];
    return [steps[0] ?? 0, steps.at(-1) ?? 1];
  };
  const show = (next: Zoom): void => {
    zoom = next;
    const [first, last] = allSteps();
    plot.batch(() => {
      const [min, max] = zoom.x ?? (first === last ? [first - 0.5, last + 0.5] : [first, last]);
      plot.setScale("x", { min, max });
      if (zoom.y !== undefined) plot.setScale("y", { min: zoom.y[0], max: zoom.y[1] });
    });
  };
  const tell = (): void => {
    clearTimeout(settling);
    settling = undefined;
    latest.current.setZoom?.(zoom);
  };
  // Steps are always of the training; what shows all of them is no zoom.
  const put = (axis: Axis, ends: Ends): void => {
    if (axis === "y") return show({ ...zoom, y: ends });
    const [first, last] = allSteps();
    const [low, high] = keptWithin(ends, [first, last], Math.min(LEAST_STEPS, last - first));
    const { x: _, ...others } = zoom;
    show(low <= first && high >= last ? others : { ...zoom, x: [low, high] });
  };
  const reset = (): void => {
    show({});
    tell();
  };
  // The parts of both axes at a point, from the lower left.
  const partsAt = ({ clientX, clientY }: MouseEvent): Readonly<Record<Axis, number>> => {
    const { left, top, width, height } = plot.over.getBoundingClientRect();
    return { x: (clientX - left) / width, y: 1 - (clientY - top) / height };
  };
  const turn = (event: WheelEvent): void => {
    if (event.ctrlKey) return; // the browser's own zoom
    event.preventDefault();
    const parts = partsAt(event);
    const axis: Axis = parts.x < 0 || (parts.y > 0 && event.shiftKey) ? "y" : "x";
    // With Shift, browsers turn the wheel sideways.
    const turned = (event.deltaY || event.deltaX) * (event.deltaMode === 1 ? LINE_PX : 1);
    const part = Math.min(1, Math.max(0, parts[axis]));
    put(axis, zoomedAround(endsOf(axis), part, Math.exp(turned * PER_PIXEL), isLog(axis)));
    clearTimeout(settling);
    settling = setTimeout(tell, SETTLED_MS);
  };
  const drag = (start: PointerEvent): void => {
    if (start.button !== 0 || latest.current.setZoom === undefined) return;
    dragged = false;
    const from = partsAt(start);
    const before: Readonly<Record<Axis, Ends>> = { x: endsOf("x"), y: endsOf("y") };
    const box = start.shiftKey ? plot.over.appendChild(document.createElement("div")) : undefined;
    if (box !== undefined) box.className = "chart-box";
    const moving = new Disposer();
    const move = (event: PointerEvent): void => {
      const by = [event.clientX - start.clientX, event.clientY - start.clientY] as const;
      if (!dragged && Math.hypot(...by) < PRESS_PX) return;
      dragged = true;
      const at = partsAt(event);
      if (box !== undefined) return drawBox(box, from, at);
      put("x", movedBy(before.x, from.x - at.x, false));
      if (Math.abs(by[1]) >= PRESS_PX || zoom.y !== undefined) put("y", movedBy(before.y, from.y - at.y, isLog("y")));
    };
    const end = (event: PointerEvent): void => {
      moving.dispose();
      box?.remove();
      if (!dragged) return;
      const at = partsAt(event);
      if (box !== undefined && event.type === "pointerup") {
        put("x", partOf(before.x, from.x, at.x, false));
        put("y", partOf(before.y, from.y, at.y, isLog("y")));
      }
      tell();
    };
    moving.add(listen<PointerEvent>(window, "pointermove", move));
    for (const type of ["pointerup", "pointercancel"]) moving.add(listen<PointerEvent>(window, type, end));
    disposer.add(() => moving.dispose());
  };
  const press = ({ key }: KeyboardEvent): boolean => {
    const zoomed = zoom.x !== undefined || zoom.y !== undefined;
    const by = (axis: Axis, factor: number): void => put(axis, zoomedAround(endsOf(axis), 0.5, factor, isLog(axis)));
    const move = (axis: Axis, part: number): void => put(axis, movedBy(endsOf(axis), part, isLog(axis)));
    if (key === "+" || key === "=") by("x", KEY_FACTOR);
    else if (key === "-") by("x", 1 / KEY_FACTOR);
    else if (key === "PageUp") by("y", KEY_FACTOR);
    else if (key === "PageDown") by("y", 1 / KEY_FACTOR);
    else if (key === "0") show({});
    else if (zoomed && key === "ArrowLeft") move("x", -KEY_PART);
    else if (zoomed && key === "ArrowRight") move("x", KEY_PART);
    else if (zoomed && key === "ArrowUp") move("y", KEY_PART);
    else if (zoomed && key === "ArrowDown") move("y", -KEY_PART);
    else return false;
    tell();
    return true;
  };
  if (latest.current.setZoom !== undefined) {
    plot.root.addEventListener("wheel", turn, { passive: false });
    disposer.add(() => plot.root.removeEventListener("wheel", turn));
    disposer.add(listen<PointerEvent>(plot.over, "pointerdown", drag));
    disposer.add(listen(plot.over, "dblclick", reset));
  }
  disposer.add(() => settling !== undefined && tell()); // what the wheel turned is kept
  return { zoom: () => zoom, show, press, isDragged: () => dragged, close: () => disposer.dispose() };
}

function drawBox(box: HTMLElement, from: Readonly<Record<Axis, number>>, to: Readonly<Record<Axis, number>>): void {
  const percent = (part: number): string => `${100 * Math.min(1, Math.max(0, part))}%`;
  box.style.left = percent(Math.min(from.x, to.x));
  box.style.right = percent(1 - Math.max(from.x, to.x));
  box.style.bottom = percent(Math.min(from.y, to.y));
  box.style.top = percent(1 - Math.max(from.y, to.y));
}
