// Puts the panel into a document and connects it to its surroundings.

import "../base/language"; // before uPlot
import { render } from "preact";
import uPlotStyle from "uplot/dist/uPlot.min.css?inline";
import { Client, type Fetch } from "../api/client";
import { Disposer, type Dispose } from "../base/disposer";
import { LayoutEngine } from "../layout/engine";
import { createStore } from "../state/store";
import { App, DEFERRED } from "./app";
import chartsStyle from "./comparing_and_charts.css?inline";
import { loadWhenIdle } from "./controls/deferred";
import findingsStyle from "./finding_rows.css?inline";
import flowStyle from "./flow/heat_map.css?inline";
import footStyle from "./graph_foot.css?inline";
import { watchKeyboard } from "./keyboard";
import { watchGrowth } from "./live";
import namesStyle from "./names.css?inline";
import { watchDashboard } from "./session/dashboard";
import { revealFromDashboard } from "./session/dashboard_link";
import { createDrawing } from "./session/drawing";
import { followStory } from "./session/follow_story";
import { correctLanguage, watchDarkMode, watchReload } from "./session/host";
import { Session } from "./session/session";
import { takeFocusWhenShown } from "./session/take_focus";
import storyStyle from "./story/story_rows.css?inline";
import style from "./style.css?inline";
import surroundings from "./surroundings.css?inline";
import { applyAddress, syncAddress } from "./sync_address";
import { createViews } from "./view/views";
import { VIEWS } from "./view_list";

export interface MountOptions {
  readonly base?: string; // of the routes
  readonly soonestMs?: number; // between two looks for new records
  readonly alone?: boolean; // in a standalone file: the run does not grow, and there is no TensorBoard
  readonly answer?: Fetch; // instead of the server
  readonly workerUrl?: string; // of the layout's worker
}

export function mount(place: HTMLElement, { base = "./", soonestMs, alone = false, answer, workerUrl }: MountOptions = {}): Dispose {
  correctLanguage();
  const disposer = new Disposer();
  const sheet = document.createElement("style");
  sheet.textContent = uPlotStyle + style + flowStyle + chartsStyle + findingsStyle + storyStyle + footStyle + namesStyle + surroundings;
  document.head.append(sheet);
  disposer.add(() => sheet.remove());

  const store = createStore(alone);
  const engine = new LayoutEngine(workerUrl);
  const drawing = createDrawing(store, engine);
  const client = new Client(base, answer);
  const session = new Session(store, client);
  const views = createViews(VIEWS, { store, client, drawing });
  disposer.add(() => engine.close());
  disposer.add(drawing.close);
  disposer.add(views.close);
  disposer.add(session.close);
  disposer.add(watchDarkMode((dark) => (store.look.dark.value = dark)));
  disposer.add(watchKeyboard(place, store, views));
  if (!alone) disposer.add(takeFocusWhenShown());

  const address = applyAddress(store, views);
  render(<App session={session} drawing={drawing} views={views} />, place);
  disposer.add(() => render(null, place));
  disposer.add(followStory(store));
  void session.start(address).then(() => {
    if (!alone) disposer.add(watchDashboard((name) => revealFromDashboard(store, name)));
    if (!alone) disposer.add(watchReload(() => void session.reload()));
    if (!alone) disposer.add(watchGrowth(session, soonestMs));
    disposer.add(syncAddress(store, views));
    disposer.add(loadWhenIdle([...VIEWS.flatMap((view) => view.deferred ?? []), ...DEFERRED]));
  });
  return () => disposer.dispose();
}
