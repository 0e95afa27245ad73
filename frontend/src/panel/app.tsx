// The panel: toolbar, drawing, card, steps; or the message that takes their place.

import type { JSX } from "preact";
import { reveal } from "../state/actions";
import { pinsOf } from "../state/charts";
import { chartedPins, pin } from "../state/charts_actions";
import type { Store } from "../state/store";
import { Card } from "./card/card";
import type { Charting } from "./charts/charts_data";
import { ChartsView } from "./charts/charts_view";
import { Empty, Failure, HiddenSessions, Loading, NothingRecorded, Notice, Waiting, Warnings } from "./controls/messages";
import type { Flowing } from "./flow/flow_data";
import { FlowView } from "./flow/flow_view";
import { GraphView, type CanvasRef } from "./graph/graph_view";
import type { Drawing } from "./session/drawing";
import type { Session } from "./session/session";
import { CompareBar } from "./toolbar/compare_bar";
import { Steps } from "./toolbar/steps";
import { Toolbar } from "./toolbar/toolbar";

export function App({ session, drawing, flowing, charting, canvas }: {
  readonly session: Session;
  readonly drawing: Drawing;
  readonly flowing: Flowing;
  readonly charting: Charting;
  readonly canvas: CanvasRef;
}): JSX.Element {
  const { store } = session;
  const theme = store.dark.value ? "dark" : "light";
  return <div class={`panel ${theme}`} data-testid="panel" data-theme={theme}>{content(session, drawing, flowing, charting, canvas)}</div>;
}

function content(session: Session, drawing: Drawing, flowing: Flowing, charting: Charting, canvas: CanvasRef): JSX.Element {
  const { store } = session;
  const phase = store.phase.value;
  const failure = phase.kind === "error" && <Failure sentence={phase.sentence} retry={() => void session.retry()} />;
  if (failure && store.runs.value.length === 0) return failure;
  if (phase.kind === "loading") return <Loading what="Loading…" />;
  if (!store.runs.value.some(({ tags }) => tags.length > 0)) return <><Warnings store={store} /><Empty /></>;
  const view = store.view.value;
  const select = (id: string): void => void (view === "charts" ? pinFound(store, id) : reveal(store, id));
  return (
    <>
      <Toolbar session={session} drawing={drawing} flowing={flowing} charting={charting} canvas={canvas} select={select} />
      <Waiting store={store} />
      <Warnings store={store} />
      <HiddenSessions store={store} />
      {failure || (store.ref.value === undefined ? <NothingRecorded run={store.run.value?.run ?? ""} /> : (
        view === "charts" ? <ChartsView store={store} drawing={drawing} charting={charting} /> :
        view === "flow" ? <FlowView store={store} drawing={drawing} flowing={flowing} /> :
        <div class="middle">
          <GraphView store={store} drawing={drawing} canvas={canvas} />
          <Card session={session} drawing={drawing} select={select} />
        </div>
      ))}
      {view !== "charts" && <CompareBar store={store} />}
      <Steps store={store} />
      <Notice store={store} />
    </>
  );
}

// Among the charts, what is found is added to them, and to the selected one that is drawn while none is pinned.
function pinFound(store: Store, id: string): void {
  if (store.hierarchy.value !== undefined) pin(store, [...chartedPins(store), ...pinsOf(store.hierarchy.value, id)]);
}
