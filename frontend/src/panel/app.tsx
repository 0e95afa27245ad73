// The panel: toolbar, drawing, card, steps; or the message that takes their place.

import type { JSX } from "preact";
import { reveal } from "../state/actions";
import { Card } from "./card";
import type { Drawing } from "./drawing";
import { GraphView, type CanvasRef } from "./graph_view";
import { Empty, Failure, Loading, Notice, Warnings } from "./messages";
import type { Session } from "./session";
import { Steps } from "./steps";
import { Toolbar } from "./toolbar";

export function App({ session, drawing, canvas }: {
  readonly session: Session;
  readonly drawing: Drawing;
  readonly canvas: CanvasRef;
}): JSX.Element {
  const { store } = session;
  const theme = store.dark.value ? "dark" : "light";
  return <div class={`panel ${theme}`} data-testid="panel" data-theme={theme}>{content(session, drawing, canvas)}</div>;
}

function content(session: Session, drawing: Drawing, canvas: CanvasRef): JSX.Element {
  const { store } = session;
  const phase = store.phase.value;
  if (phase.kind === "error") return <Failure sentence={phase.sentence} retry={() => void session.retry()} />;
  if (phase.kind === "loading") return <Loading what="Loading…" />;
  if (!store.runs.value.some(({ tags }) => tags.length > 0)) return <><Warnings store={store} /><Empty /></>;
  const select = (id: string): void => {
    reveal(store, id);
    canvas.current?.showBox(id);
  };
  return (
    <>
      <Toolbar session={session} select={select} />
      <Warnings store={store} />
      <div class="middle">
        <GraphView store={store} drawing={drawing} canvas={canvas} />
        <Card session={session} drawing={drawing} select={select} />
      </div>
      <Steps store={store} />
      <Notice store={store} />
    </>
  );
}
