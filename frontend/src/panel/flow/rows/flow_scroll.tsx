// The scroll bar of the rows: the whole heat map, small, with a frame around the rows in sight.

import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";
import { Disposer, listen } from "../../../base/disposer";
import { paintCells } from "../../../draw/flow/paint_cells";
import { followSize, opaqueContext } from "../../picture/live_canvas";
import { scrollTo, turnWheel } from "../data/flow_actions";
import type { Flowing } from "../data/flow_data";

const LEAST_THUMB_PX = 18;

export function FlowScroll({ flowing }: { readonly flowing: Flowing }): JSX.Element | null {
  const { rows, map } = flowing.sight.value;
  const inSight = rows.to - rows.from;
  if (rows.count === 0 || inSight >= rows.count - 1e-6) return null;
  const thumb = Math.min(map.height, Math.max(LEAST_THUMB_PX, (inSight / rows.count) * map.height));
  const top = (rows.from / (rows.count - inSight)) * (map.height - thumb);
  const follow = (event: PointerEvent & { readonly currentTarget: HTMLElement }): void => {
    if (event.buttons !== 1) return;
    const y = event.clientY - event.currentTarget.getBoundingClientRect().top;
    scrollTo(flowing.state, rows, ((y - thumb / 2) / Math.max(1, map.height - thumb)) * (rows.count - inSight));
  };
  return (
    <div
      class="flow-scroll"
      data-testid="flow-scroll"
      role="scrollbar"
      aria-label="Rows in sight"
      aria-controls="gradgraph-flow-rows"
      aria-orientation="vertical"
      aria-valuemin={0}
      aria-valuemax={Math.ceil(rows.count - inSight)}
      aria-valuenow={Math.round(rows.from)}
      aria-valuetext={`rows ${Math.floor(rows.from) + 1} to ${Math.ceil(rows.to)} of ${rows.count}`}
      style={{ top: `${map.y}px`, height: `${map.height}px` }}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        follow(event);
      }}
      onPointerMove={follow}
    >
      <Overview flowing={flowing} />
      <i style={{ top: `${top}px`, height: `${thumb}px` }} />
    </div>
  );
}

// Painted again only when cells changed, not while rows are scrolled.
function Overview({ flowing }: { readonly flowing: Flowing }): JSX.Element {
  const element = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const canvas = element.current;
    if (canvas === null) return undefined;
    const disposer = new Disposer();
    disposer.add(listen<WheelEvent>(canvas.parentElement!, "wheel", (event) => turnWheel(flowing, event), { passive: false }));
    disposer.add(followSize(canvas, () => paintOverview(canvas, flowing)));
    disposer.add(
      effect(() => {
        void [flowing.cells.value, flowing.palette.value];
        paintOverview(canvas, flowing);
      }),
    );
    return () => disposer.dispose();
  }, []);
  return <canvas ref={element} aria-hidden="true" />;
}

function paintOverview(canvas: HTMLCanvasElement, flowing: Flowing): void {
  const cells = flowing.cells.peek();
  const { clientWidth: width, clientHeight: height } = canvas;
  if (cells === undefined || width === 0 || height === 0) return;
  [canvas.width, canvas.height] = [width, height];
  const context = opaqueContext(canvas);
  const image = context.createImageData(width, height);
  const whole = (count: number, lengthPx: number) => ({ from: 0, to: count, unitPx: lengthPx / Math.max(1, count), count });
  paintCells(image, cells, whole(cells.columns, width), whole(cells.entities.length, height), 1, flowing.palette.peek());
  context.putImageData(image, 0, 0);
}
