// The panel: toolbar, drawing, card, steps; or a message instead.

import type { JSX } from "preact";
import { Card, CARDS } from "./card/card";
import { Empty, Failure, HiddenSessions, Loading, NothingRecorded, Notice, Waiting, Warnings } from "./controls/messages";
import { Verdict } from "./findings/verdict";
import type { Drawing } from "./session/drawing";
import type { Session } from "./session/session";
import { CompareBar } from "./toolbar/compare_switch";
import { Steps } from "./toolbar/steps";
import { SaveStory, StoryList } from "./story/story_button";
import { Toolbar } from "./toolbar/toolbar";
import type { Views } from "./view/views";

// The parts that are loaded late, besides those of views.
export const DEFERRED = [...CARDS, CompareBar, StoryList, SaveStory] as const;

interface AppProps {
  readonly session: Session;
  readonly drawing: Drawing;
  readonly views: Views;
}

export function App(props: AppProps): JSX.Element {
  const theme = props.session.store.look.dark.value ? "dark" : "light";
  return (
    <main class={`panel ${theme}`} data-testid="panel" data-theme={theme}>
      <h1 class="visually-hidden">Grad Graph</h1>
      {content(props)}
    </main>
  );
}

function content({ session, drawing, views }: AppProps): JSX.Element {
  const { store } = session;
  const phase = store.shown.phase.value;
  const failure = phase.kind === "error" && <Failure sentence={phase.sentence} retry={() => void session.retry()} />;
  if (failure && store.recorded.runs.value.length === 0) return failure;
  if (phase.kind === "loading") return <Loading what="Loading…" />;
  if (!store.recorded.runs.value.some(({ tags }) => tags.length > 0))
    return (
      <>
        <Warnings store={store} />
        <Empty />
      </>
    );
  const { Body, hasCard, compares } = views.shown.value;
  return (
    <>
      <Toolbar session={session} views={views} />
      <Waiting store={store} />
      <Warnings store={store} />
      <HiddenSessions store={store} />
      <Verdict store={store} select={views.select} />
      {failure ||
        (store.place.ref.value === undefined ? (
          <NothingRecorded run={store.place.run.value?.run ?? ""} />
        ) : !hasCard ? (
          <Body />
        ) : (
          <div class="middle">
            <Body />
            <Card session={session} drawing={drawing} select={views.select} ofViews={views.inCard} />
          </div>
        ))}
      {compares && store.compare.choice.value !== undefined && <CompareBar store={store} client={session.client} />}
      <Steps store={store} select={views.select} />
      <Notice store={store} />
    </>
  );
}
