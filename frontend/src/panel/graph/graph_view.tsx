// The drawing with what floats over it.

import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import type { Store } from "../../state/store";
import { FitIcon, IconButton, MinusIcon, PlusIcon } from "../controls/icons";
import { Loading, NoGradients } from "../controls/messages";
import type { Drawing } from "../session/drawing";
import { Breadcrumbs } from "./breadcrumbs";
import { GraphCanvas } from "./graph_canvas";
import { Legend } from "./legend";
import type { Pointed } from "./pointing";
import { Tooltip } from "./tooltip";
import { Tree } from "./tree/tree";

export interface CanvasRef {
  current: GraphCanvas | undefined;
}

export function GraphView({ store, drawing, canvas }: {
  readonly store: Store;
  readonly drawing: Drawing;
  readonly canvas: CanvasRef;
}): JSX.Element {
  const element = useRef<HTMLCanvasElement>(null);
  const small = useRef<HTMLCanvasElement>(null);
  const [pointed, setPointed] = useState<Pointed | undefined>(undefined);
  useEffect(() => {
    if (element.current === null || small.current === null) return undefined;
    const made = new GraphCanvas(element.current, store, drawing, setPointed, small.current);
    canvas.current = made;
    return () => {
      made.close();
      canvas.current = undefined;
    };
  }, []);
  const part = drawing.part.value;
  const percent = part > 0 ? ` ${Math.round(100 * part)} %` : "";
  const waiting = drawing.drawn.value === undefined || drawing.busy.value;
  return (
    <div class="stage">
      <canvas ref={element} data-testid="canvas" role="img" aria-label="Drawing of the graph; the tree after it holds the same" tabIndex={0} />
      <Tree store={store} drawing={drawing} />
      <div class="over">
        <Breadcrumbs store={store} inside={drawing.inside.value} />
        <NoGradients store={store} />
      </div>
      <Legend store={store} drawing={drawing} />
      <canvas ref={small} class="minimap" data-testid="minimap" aria-hidden="true" title="The whole drawing; a click goes there" hidden />
      <div class="zoom" role="group" aria-label="Zoom">
        <IconButton id="zoom-in" label="Zoom in" onClick={() => canvas.current?.zoomBy(1.3)}><PlusIcon /></IconButton>
        <IconButton id="zoom-out" label="Zoom out" onClick={() => canvas.current?.zoomBy(1 / 1.3)}><MinusIcon /></IconButton>
        <IconButton id="fit" label="Fit to window (F)" onClick={() => canvas.current?.fit()}><FitIcon /></IconButton>
      </div>
      {waiting && <Loading what={drawing.busy.value ? `Laying out…${percent}` : "Loading graph…"} onStop={part > 0 ? drawing.stop : undefined} />}
      {pointed && <Tooltip store={store} drawing={drawing} pointed={pointed} stagePx={{ width: element.current?.clientWidth ?? 0, height: element.current?.clientHeight ?? 0 }} />}
    </div>
  );
}
