// The bar above the drawing: what is shown, and how.

import type { JSX } from "preact";
import { ranksOf, runTitle, stepsWith, wholeOf } from "../../model/recorded/run";
import { statisticsFor } from "../../model/recorded/statistics";
import { chooseHash, chooseRun, chooseTag } from "../../state/actions";
import { setStatistic } from "../../state/store";
import { CollapseIcon, ExpandIcon, IconButton } from "../controls/icons";
import { Findings } from "../findings/findings";
import type { Session } from "../session/session";
import { StoryButton } from "../story/story_button";
import type { Views } from "../view/views";
import { Colors } from "./colors";
import { CompareSwitch } from "./compare_switch";
import { Finder } from "./finder";
import { Help } from "./help";
import { TakeAway } from "./take_away";
import { ViewSwitch } from "./view_switch";

interface Option {
  readonly value: string;
  readonly text: string;
}

export function Toolbar({ session, views }: { readonly session: Session; readonly views: Views }): JSX.Element {
  const { store } = session;
  const tag = store.place.tag.value;
  const hashes = tag?.hashes ?? [];
  const { Choices, compares, groups } = views.shown.value;
  return (
    <div class="bar toolbar" role="toolbar" aria-label="Gradient graph">
      <div class="choices">
        <ViewSwitch views={views} />
        <RunChoice session={session} />
        <Choice
          id="tag"
          label="Graph"
          value={tag?.tag ?? ""}
          choose={(name) => chooseTag(store, name)}
          options={(store.place.run.value?.tags ?? []).map((one) => ({ value: one.tag, text: one.tag }))}
        />
        {hashes.length > 1 && (
          <Choice
            id="hash"
            label="Structure"
            value={store.place.ref.value?.hash ?? ""}
            choose={(hash) => chooseHash(store, hash)}
            title={`The graph was not the same at every step: it had ${hashes.length} structures, numbered in order of appearance, each with its steps. Choose one to go to the nearest of its steps.`}
            options={hashes.map((hash, i) => ({ value: hash, text: `${i + 1}: step ${stepsWith(tag!.records, hash)}` }))}
          />
        )}
        <Choice
          id="statistic"
          label={store.place.half.value === "value" ? "Value" : "Gradient"}
          value={store.shown.statistic.value.id}
          choose={(id) => setStatistic(store, id)}
          title={store.shown.statistic.value.meaning}
          options={statisticsFor(store.place.half.value, store.recorded.record.value?.statistics ?? []).map(({ id, label }) => ({
            value: id,
            text: label,
          }))}
        />
        {Choices && <Choices />}
        {compares && <CompareSwitch store={store} />}
      </div>
      <div class="tools">
        <Findings session={session} select={views.select} />
        <Finder hierarchy={store.recorded.hierarchy.value} select={views.select} />
        {groups && (
          <>
            <IconButton id="expand-all" label="Expand all" onClick={groups.openAll}>
              <ExpandIcon />
            </IconButton>
            <IconButton id="collapse-all" label="Collapse all" onClick={groups.closeAll}>
              <CollapseIcon />
            </IconButton>
          </>
        )}
        <Colors store={store} />
        <StoryButton store={store} views={views} />
        <TakeAway store={store} views={views} />
        <Help store={store} views={views} />
      </div>
    </div>
  );
}

// Which run; of a training of several processes first the whole, and beside it one process by itself.
function RunChoice({ session: { store } }: { readonly session: Session }): JSX.Element {
  const runs = store.recorded.runs.value;
  const shown = store.place.run.value?.run ?? "";
  const whole = wholeOf(shown, runs)?.whole ?? shown;
  const ranks = ranksOf(whole, runs);
  const wholes = runs.filter(({ run }) => wholeOf(run, runs) === undefined);
  return (
    <>
      <Choice
        id="run"
        label="Run"
        value={whole}
        choose={(run) => chooseRun(store, run)}
        options={wholes.map(({ run }) => ({ value: run, text: runTitle(run) }))}
      />
      {ranks.length > 0 && (
        <Choice
          id="rank"
          label="Rank"
          value={shown}
          choose={(run) => chooseRun(store, run)}
          title="All processes of the training joined, or what one of them recorded"
          options={[{ value: whole, text: "all ranks" }, ...ranks.map(({ run, rank }) => ({ value: run, text: `rank ${rank}` }))]}
        />
      )}
    </>
  );
}

function Choice({
  id,
  label,
  value,
  options,
  choose,
  title,
}: {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly options: readonly Option[];
  readonly choose: (value: string) => void;
  readonly title?: string;
}): JSX.Element {
  return (
    <label class={`choice choice-${id}`} title={title ?? label}>
      <span>{label}</span>
      <select data-testid={id} value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.text}
          </option>
        ))}
      </select>
    </label>
  );
}
