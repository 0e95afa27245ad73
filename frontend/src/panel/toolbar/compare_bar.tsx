// The bar that says what the shown record is compared with.

import { useState } from "preact/hooks";
import type { JSX } from "preact";
import type { Client } from "../../api/client";
import { formatCount } from "../../base/format";
import { distinctSteps, runTitle } from "../../model/recorded/run";
import { reveal } from "../../state/actions";
import { REACHES, type Place } from "../../state/compare";
import { chooseOther, groupableRuns, stopComparing, swapSides } from "../../state/compare_actions";
import type { Store } from "../../state/store";
import { CloseIcon, IconButton, SwapIcon } from "../controls/icons";
import { NodeLink } from "../controls/node_link";
import { Popover } from "../controls/popover";
import { ComparedRuns } from "./compared_runs";
import { Losses } from "./losses";

export interface CompareBarProps {
  readonly store: Store;
  readonly client: Client;
}

export function CompareBar({ store, client }: CompareBarProps): JSX.Element | null {
  const { choice, place, places, reach, chosenReach, comparison } = store.compare;
  const [chosen, there] = [choice.value, place.value];
  if (chosen === undefined) return null;
  const isGroup = chosen.runs !== undefined;
  const chooseRun = (run: string): void =>
    chooseOther(
      store,
      run === GROUP ? { run: undefined, runs: "every" } : { run: unlessEqual(run, store.place.run.value?.run), runs: undefined },
    );
  const runs = store.recorded.runs.value.filter(({ tags }) => tags.length > 0);
  return (
    <div
      class="bar compare-bar"
      role="group"
      aria-label="Compared with"
      data-testid="compare-bar"
      data-there={there && [there.run.run, there.tag.tag, there.ref.step, there.ref.stage].join("\n")}
      data-runs={places.value.length}
      data-ready={comparison.value !== undefined}
    >
      <b>Compared with</b>
      <label class="choice">
        <span>Run</span>
        <select
          data-testid="vs-run"
          value={isGroup ? GROUP : (there?.run.run ?? "")}
          onChange={(event) => chooseRun(event.currentTarget.value)}
        >
          {there === undefined && <option value="">–</option>}
          {runs.map(({ run }) => (
            <option key={run} value={run}>
              {runTitle(run)}
            </option>
          ))}
          {(isGroup || groupableRuns(store).length > 1) && <option value={GROUP}>several: median</option>}
        </select>
      </label>
      {isGroup && <ComparedRuns store={store} />}
      {there !== undefined && (
        <>
          <label class="choice">
            <span>Graph</span>
            <select
              data-testid="vs-tag"
              value={there.tag.tag}
              onChange={(event) => chooseOther(store, { tag: unlessEqual(event.currentTarget.value, store.place.tag.value?.tag) })}
            >
              {there.run.tags.map(({ tag }) => (
                <option key={tag} value={tag}>
                  {tag}
                </option>
              ))}
            </select>
          </label>
          <StepChoice store={store} there={there} />
        </>
      )}
      <label class="choice" title="The color is full from this ratio on">
        <span>Full color at</span>
        <select
          data-testid="vs-reach"
          value={chosenReach.value ?? ""}
          onChange={({ currentTarget: { value } }) => (chosenReach.value = value === "" ? undefined : Number(value))}
        >
          <option value="">as needed{chosenReach.value === undefined ? ` (×${formatCount(2 ** reach.value)})` : ""}</option>
          {REACHES.map((log2) => (
            <option key={log2} value={log2}>
              ×{formatCount(2 ** log2)}
            </option>
          ))}
        </select>
      </label>
      <Losses store={store} client={client} />
      <Differences store={store} />
      {!isGroup && (
        <IconButton id="vs-swap" label="Swap both sides" onClick={() => swapSides(store)}>
          <SwapIcon />
        </IconButton>
      )}
      <IconButton id="vs-close" label="End the comparison" onClick={() => stopComparing(store)}>
        <CloseIcon />
      </IconButton>
    </div>
  );
}

const GROUP = "\n"; // no name of a run

function unlessEqual(value: string, shown: string | undefined): string | undefined {
  return value === shown ? undefined : value;
}

// The choice between the shown step, wherever the slider goes, and a fixed step.
function StepChoice({ store, there }: { readonly store: Store; readonly there: Place }): JSX.Element {
  const steps = distinctSteps(there.tag.records);
  const fixed = store.compare.choice.value?.step !== undefined;
  const at = steps.indexOf(there.ref.step);
  const stage = there.ref.stage === store.place.ref.value?.stage ? "" : `, ${there.ref.stage}`;
  return (
    <>
      <label class="choice">
        <span>Step</span>
        <select
          data-testid="vs-step-kind"
          value={fixed ? "fixed" : "same"}
          onChange={(event) => chooseOther(store, { step: event.currentTarget.value === "fixed" ? there.ref.step : undefined })}
        >
          <option value="same">{!fixed && there.ref.step !== store.place.ref.value?.step ? "nearest" : "the same"}</option>
          <option value="fixed">fixed at</option>
        </select>
      </label>
      <span class="vs-step" data-testid="vs-step">
        {there.ref.step}
        {stage}
      </span>
      {fixed && (
        <input
          type="range"
          class="slider"
          data-testid="vs-slider"
          aria-label="Step to compare with"
          min={0}
          max={Math.max(0, steps.length - 1)}
          value={at}
          disabled={steps.length < 2}
          onInput={(event) => chooseOther(store, { step: steps[event.currentTarget.valueAsNumber] })}
        />
      )}
      {!fixed && <span class="spring" />}
    </>
  );
}

const MOST = 100;

// Nodes that only one of the two has. The graphs of a group may differ among themselves.
function Differences({ store }: { readonly store: Store }): JSX.Element | null {
  const [open, setOpen] = useState(false);
  const comparison = store.compare.comparison.value;
  if (comparison === undefined || comparison.sides.some(({ hierarchy }) => hierarchy !== comparison.first.hierarchy)) return null;
  const { onlyHere, onlyThere } = comparison.first.joined;
  if (onlyHere === 0 && onlyThere.length === 0)
    return (
      <span class="faint vs-same" data-testid="differences">
        the same nodes
      </span>
    );
  const { graph } = comparison.first.hierarchy;
  return (
    <Popover
      id="differences"
      label={`${formatCount(onlyHere)} only here, ${formatCount(onlyThere.length)} only there`}
      look="pill"
      open={open}
      setOpen={setOpen}
    >
      <p class="popover-text">
        Hatched boxes are only here, dashed ones only there. Swap both sides to see in full what is only there
        {onlyThere.length === 0 ? "." : ":"}
      </p>
      <ul data-testid="only-there">
        {onlyThere.slice(0, MOST).map((node) => (
          <li key={node} class="padded">
            <NodeLink
              graph={graph}
              node={node}
              select={(id) => {
                setOpen(false);
                if (reveal(store, id)) return;
                swapSides(store);
                store.shown.selected.value = id;
              }}
            />
          </li>
        ))}
        {onlyThere.length > MOST && <li class="padded faint">and {formatCount(onlyThere.length - MOST)} more</li>}
      </ul>
    </Popover>
  );
}
