// The bar that says what the shown record is compared with.

import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import type { Client } from "../../api/client";
import { formatCount, formatNumber } from "../../base/format";
import { atPass, LOSS, type Quantities } from "../../model/flow/scalar_line";
import { distinctSteps, lengthOf, runTitle, type RecordRef, type Tag } from "../../model/recorded/run";
import { reveal } from "../../state/actions";
import { REACHES, type Place } from "../../state/compare";
import { chooseOther, stopComparing, swapSides } from "../../state/compare_actions";
import type { Store } from "../../state/store";
import { CloseIcon, IconButton, SwapIcon } from "../controls/icons";
import { NodeLink } from "../controls/node_link";
import { Popover } from "../controls/popover";

export interface CompareBarProps {
  readonly store: Store;
  readonly client: Client;
}

export function CompareBar({ store, client }: CompareBarProps): JSX.Element | null {
  const { choice, place, reach, chosenReach, comparison } = store.compare;
  const [chosen, there] = [choice.value, place.value];
  if (chosen === undefined) return null;
  const runs = store.recorded.runs.value.filter(({ tags }) => tags.length > 0);
  return (
    <div
      class="bar compare-bar"
      role="group"
      aria-label="Compared with"
      data-testid="compare-bar"
      data-there={there && [there.run.run, there.tag.tag, there.ref.step, there.ref.stage].join("\n")}
      data-ready={comparison.value !== undefined}
    >
      <b>Compared with</b>
      <label class="choice">
        <span>Run</span>
        <select
          data-testid="vs-run"
          value={there?.run.run ?? ""}
          onChange={(event) => chooseOther(store, { run: unlessEqual(event.currentTarget.value, store.place.run.value?.run) })}
        >
          {there === undefined && <option value="">–</option>}
          {runs.map(({ run }) => (
            <option key={run} value={run}>
              {runTitle(run)}
            </option>
          ))}
        </select>
      </label>
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
      <IconButton id="vs-swap" label="Swap both sides" onClick={() => swapSides(store)}>
        <SwapIcon />
      </IconButton>
      <IconButton id="vs-close" label="End the comparison" onClick={() => stopComparing(store)}>
        <CloseIcon />
      </IconButton>
    </div>
  );
}

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

// The loss of both steps, where it is recorded.
function Losses({ store, client }: CompareBarProps): JSX.Element | null {
  const { run, tag, ref } = store.place;
  const there = store.compare.place.value;
  const here = lossAt(useQuantities(client, run.value?.run, tag.value), ref.value);
  const other = lossAt(useQuantities(client, there?.run.run, there?.tag), there?.ref);
  if (here === undefined && other === undefined) return null;
  const text = (loss: number | undefined): string => (loss === undefined ? "–" : formatNumber(loss));
  return (
    <span class="vs-losses" data-testid="vs-losses" data-here={here} data-there={other} title="The loss at both steps">
      <span class="faint">Loss</span> <b>{text(here)}</b> <span class="faint">here,</span> <b>{text(other)}</b>{" "}
      <span class="faint">there</span>
    </span>
  );
}

// The numbers of the steps of a tag, asked again when it grows.
function useQuantities(client: Client, run: string | undefined, tag: Tag | undefined): Quantities | undefined {
  const [found, find] = useState<readonly [key: string, Quantities] | undefined>(undefined);
  const key = run === undefined || tag === undefined ? undefined : [run, tag.tag].join("\n");
  const version = tag && lengthOf(tag);
  useEffect(() => {
    let late = false;
    if (key !== undefined)
      void client.quantities(run!, tag!.tag).then((reply) => {
        if (!late && reply.ok) find([key, reply.value]);
      });
    return () => void (late = true);
  }, [key, version]);
  return found?.[0] === key ? found?.[1] : undefined;
}

function lossAt(quantities: Quantities | undefined, ref: RecordRef | undefined): number | undefined {
  const loss = quantities?.known.get(LOSS);
  if (loss === undefined || ref === undefined) return undefined;
  const { steps, values } = atPass(loss, ref.backwardPass);
  return values[steps.indexOf(ref.step)];
}

const MOST = 100;

// Nodes that only one of the two has.
function Differences({ store }: { readonly store: Store }): JSX.Element | null {
  const [open, setOpen] = useState(false);
  const comparison = store.compare.comparison.value;
  if (comparison === undefined) return null;
  const { onlyHere, onlyThere } = comparison.joined;
  if (onlyHere === 0 && onlyThere.length === 0)
    return (
      <span class="faint" data-testid="differences">
        the same nodes
      </span>
    );
  const { graph } = comparison.hierarchy;
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
