// The bar above the drawing: what is shown, and how.

import type { JSX } from "preact";
import { stepsWith } from "../../model/recorded/run";
import { STATISTICS } from "../../model/recorded/statistics";
import { chooseHash, chooseRun, chooseTag, collapseAll, expandAll } from "../../state/actions";
import { closeAllRows, openAllRows } from "../../state/flow_actions";
import { setStatistic, type Store } from "../../state/store";
import type { Charting } from "../charts/charts_data";
import { CollapseIcon, ExpandIcon, IconButton } from "../controls/icons";
import type { Flowing } from "../flow/flow_data";
import type { CanvasRef } from "../graph/graph_view";
import type { Drawing } from "../session/drawing";
import type { Session } from "../session/session";
import { Colors } from "./colors";
import { CompareSwitch } from "./compare_bar";
import { Finder } from "./finder";
import { Findings } from "./findings";
import { Help } from "./help";
import { TakeAway } from "./take_away";
import { ViewSwitch } from "./view_switch";

interface Option {
  readonly value: string;
  readonly text: string;
}

export function Toolbar({ session, drawing, flowing, charting, canvas, select }: {
  readonly session: Session;
  readonly drawing: Drawing;
  readonly flowing: Flowing;
  readonly charting: Charting;
  readonly canvas: CanvasRef;
  readonly select: (id: string) => void;
}): JSX.Element {
  const { store } = session;
  const tag = store.tag.value;
  const hashes = tag?.hashes ?? [];
  const view = store.view.value;
  const [graph, flow] = [view === "graph", view === "flow"];
  return (
    <div class="bar toolbar" role="toolbar" aria-label="Gradient graph">
      <div class="choices">
        <ViewSwitch store={store} />
        <Choice id="run" label="Run" value={store.run.value?.run ?? ""} choose={(run) => chooseRun(store, run)}
          options={store.runs.value.map(({ run }) => ({ value: run, text: run || "." }))} />
        <Choice id="tag" label="Graph" value={tag?.tag ?? ""} choose={(name) => chooseTag(store, name)}
          options={(store.run.value?.tags ?? []).map((one) => ({ value: one.tag, text: one.tag }))} />
        {hashes.length > 1 && (
          <Choice id="hash" label="Structure" value={store.ref.value?.hash ?? ""} choose={(hash) => chooseHash(store, hash)}
            title={`The graph was not the same at every step: it had ${hashes.length} structures, numbered as they first appeared, each with the steps that have it. Choosing one goes to the nearest of them.`}
            options={hashes.map((hash, i) => ({ value: hash, text: `${i + 1}: step ${stepsWith(tag!.records, hash)}` }))} />
        )}
        <Choice id="statistic" label="Gradient" value={store.statistic.value.id} choose={(id) => setStatistic(store, id)}
          title={store.statistic.value.meaning}
          options={STATISTICS.map(({ id, label }) => ({ value: id, text: label }))} />
        {graph && <DirectionSwitch store={store} />}
        {view !== "charts" && <CompareSwitch store={store} />}
      </div>
      <div class="tools">
        <Findings session={session} select={select} />
        <Finder hierarchy={store.hierarchy.value} select={select} />
        {view !== "charts" && (
          <>
            <IconButton id="expand-all" label="Expand all" onClick={() => (flow ? openAllRows(store) : expandAll(store))}><ExpandIcon /></IconButton>
            <IconButton id="collapse-all" label="Collapse all" onClick={() => (flow ? closeAllRows(store) : collapseAll(store))}><CollapseIcon /></IconButton>
          </>
        )}
        <Colors store={store} />
        <TakeAway store={store} drawing={drawing} flowing={flowing} charting={charting} canvas={canvas} />
        <Help view={view} />
      </div>
    </div>
  );
}

function Choice({ id, label, value, options, choose, title }: {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly options: readonly Option[];
  readonly choose: (value: string) => void;
  readonly title?: string;
}): JSX.Element {
  return (
    <label class={`choice choice-${id}`} title={title}>
      <span>{label}</span>
      <select data-testid={id} value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {options.map((option) => <option key={option.value} value={option.value}>{option.text}</option>)}
      </select>
    </label>
  );
}

function DirectionSwitch({ store }: { readonly store: Store }): JSX.Element {
  const direction = store.direction.value;
  return (
    <div class="switch" role="radiogroup" aria-label="Direction of the drawing" data-testid="direction" data-value={direction}>
      {(["forward", "backward"] as const).map((one) => (
        <button key={one} type="button" role="radio" aria-checked={one === direction} data-testid={`direction-${one}`}
          title={one === "forward" ? "Edges follow the data" : "Edges follow the gradient"}
          onClick={() => (store.direction.value = one)}>
          {one === "forward" ? "Forward" : "Backward"}
        </button>
      ))}
    </div>
  );
}
