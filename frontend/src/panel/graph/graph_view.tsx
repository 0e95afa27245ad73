// The view of the graph: the drawing at one step, and the parts that float over it.

import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { collapseAll, expandAll, reveal } from "../../state/actions";
import { turnColumns, turnFollowing } from "../../state/uses";
import type { Store } from "../../state/store";
import { ColumnsIcon, FitIcon, FollowingIcon, IconButton, MinusIcon, PlusIcon } from "../controls/icons";
import { Loading, NoGradients } from "../controls/messages";
import { nameOf, withFooter } from "../picture/picture";
import type { Drawing } from "../session/drawing";
import { DirectionSwitch, NoValues } from "../view/halves";
import { SavePictures } from "../view/save_pictures";
import type { Around, Shown, View } from "../view/view";
import { Breadcrumbs } from "./breadcrumbs";
import { GraphCanvas } from "./graph_canvas";
import { GRAPH_KEYS, GRAPH_MEANINGS, pressInGraph } from "./graph_keys";
import { Legend } from "./legend";
import type { Pointed } from "./pointing";
import { Parts } from "./parts";
import { Tooltip } from "./tooltip";
import { Tree } from "./tree/tree";

export const graphView: View = {
  id: "graph",
  text: "Graph",
  title: "The graph at one step (G)",
  key: "g",
  hasCard: true,
  compares: true,
  help: { keys: GRAPH_KEYS, meanings: GRAPH_MEANINGS },
  create: showGraphView,
};

interface CanvasRef {
  current: GraphCanvas | undefined;
}

interface GraphProps {
  readonly store: Store;
  readonly drawing: Drawing;
  readonly canvas: CanvasRef;
}

function showGraphView({ store, drawing }: Around): Shown {
  const canvas: CanvasRef = { current: undefined };
  const props = { store, drawing, canvas };
  return {
    Body: () => <GraphBody {...props} />,
    Choices: () => <DirectionSwitch store={store} />,
    Saved: () => <SavedGraph {...props} />,
    async picture() {
      const painted = canvas.current?.picture(false);
      return painted && withFooter(painted, store, drawing, false);
    },
    groups: { openAll: () => expandAll(store), closeAll: () => collapseAll(store) },
    enter: (selected) => void reveal(store, selected),
    link: {
      read: (values) => {
        store.graph.oneColumn.value = values.get("columns") === "1";
        store.graph.apart.value = values.get("apart") === "1";
        store.graph.wantedPlace.value = values.get("at");
      },
      write: () => [
        ["columns", store.graph.oneColumn.value ? 1 : undefined],
        ["at", store.graph.place.value],
        ["apart", store.graph.apart.value ? 1 : undefined],
      ],
    },
    press: (event) => pressInGraph(store, canvas.current, event),
  };
}

function GraphBody({ store, drawing, canvas }: GraphProps): JSX.Element {
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
      <div class="picture">
        <canvas
          ref={element}
          data-testid="canvas"
          role="img"
          aria-label="Drawing of the graph; the tree after it has the same content"
          tabIndex={0}
        />
        <Tree store={store} drawing={drawing} />
        <div class="over">
          <Breadcrumbs store={store} inside={drawing.inside.value} />
          <NoGradients store={store} />
          <NoValues store={store} />
        </div>
        <canvas ref={small} class="minimap" data-testid="minimap" aria-hidden="true" title="The whole drawing; a click goes there" hidden />
        {waiting && (
          <Loading what={drawing.busy.value ? `Laying out…${percent}` : "Loading graph…"} onStop={part > 0 ? drawing.stop : undefined} />
        )}
        {pointed && (
          <Tooltip
            store={store}
            drawing={drawing}
            pointed={pointed}
            stagePx={{ width: element.current?.clientWidth ?? 0, height: element.current?.clientHeight ?? 0 }}
          />
        )}
      </div>
      <div class="foot">
        <Legend store={store} drawing={drawing} />
        <Parts parts={drawing.parts.value} goTo={(part) => canvas.current?.goToPart(part)} />
        <div class="zoom" role="group" aria-label="Zoom">
          <IconButton
            id="apart"
            label={`Norms and activations ${store.graph.apart.value ? "as rows in the layer before them" : "as boxes of their own"} (A)`}
            onClick={() => turnFollowing(store)}
          >
            <FollowingIcon />
          </IconButton>
          <IconButton
            id="one-column"
            label={`${store.graph.oneColumn.value ? "In columns" : "In one column"} (V)`}
            onClick={() => turnColumns(store)}
          >
            <ColumnsIcon />
          </IconButton>
          <IconButton id="zoom-in" label="Zoom in" onClick={() => canvas.current?.zoomBy(1.3)}>
            <PlusIcon />
          </IconButton>
          <IconButton id="zoom-out" label="Zoom out" onClick={() => canvas.current?.zoomBy(1 / 1.3)}>
            <MinusIcon />
          </IconButton>
          <IconButton id="fit" label="Fit to window (F)" onClick={() => canvas.current?.fit()}>
            <FitIcon />
          </IconButton>
        </div>
      </div>
    </div>
  );
}

function SavedGraph({ store, drawing, canvas }: GraphProps): JSX.Element {
  const pictures = (title: string, id: string, whole: boolean): JSX.Element => (
    <SavePictures
      store={store}
      title={title}
      id={id}
      name={() => nameOf(store, `${store.place.ref.peek()?.step}${whole ? "-whole" : ""}`)}
      paint={() => {
        const painted = canvas.current?.picture(whole);
        return painted && withFooter(painted, store, drawing, false);
      }}
    />
  );
  return (
    <>
      {pictures("Picture of the visible part", "save", false)}
      {pictures("Picture of the whole drawing", "save-whole", true)}
    </>
  );
}
