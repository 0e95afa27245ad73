// The bar below the drawing: which recorded step is shown, whether the latest is followed, and notes about the step.

import { lastingSpans } from "../../model/recorded/bad_steps";
import { useEffect } from "preact/hooks";
import type { JSX } from "preact";
import { formatCount, formatNumber } from "../../base/format";
import { cadenceBefore, distinctSteps, passesAt, stagesAt, type RecordRef } from "../../model/recorded/run";
import { chooseStage, goToStep, moveSteps } from "../../state/actions";
import { setFollow } from "../../state/live_actions";
import type { Store } from "../../state/store";
import { Lanes } from "../findings/lanes";
import { FirstIcon, IconButton, LastIcon, NextIcon, PauseIcon, PlayIcon, PreviousIcon } from "../controls/icons";

const PLAY_MS = 220;
const TICKS = 200;

export function Steps({ store, select }: { readonly store: Store; readonly select: (id: string) => void }): JSX.Element | null {
  usePlaying(store);
  const ref = store.place.ref.value;
  const records = store.place.tag.value?.records ?? [];
  if (ref === undefined) return null;
  const steps = distinctSteps(records);
  const at = steps.indexOf(ref.step);
  const passes = passesAt(records, ref.step, ref.stage);
  const stages = stagesAt(records, ref.step);
  const playing = store.live.playing.value;
  return (
    <footer class="bar steps" role="group" aria-label="Recorded step">
      <IconButton id="first" label="First step (Home)" disabled={at === 0} onClick={() => moveSteps(store, -Infinity)}>
        <FirstIcon />
      </IconButton>
      <IconButton id="previous" label="Previous step (Left)" disabled={at === 0} onClick={() => moveSteps(store, -1)}>
        <PreviousIcon />
      </IconButton>
      <IconButton id="play" label={playing ? "Pause" : "Play"} disabled={steps.length < 2} onClick={() => togglePlay(store)}>
        {playing ? <PauseIcon /> : <PlayIcon />}
      </IconButton>
      <IconButton id="next" label="Next step (Right)" disabled={at === steps.length - 1} onClick={() => moveSteps(store, 1)}>
        <NextIcon />
      </IconButton>
      <IconButton id="last" label="Last step (End)" disabled={at === steps.length - 1} onClick={() => moveSteps(store, Infinity)}>
        <LastIcon />
      </IconButton>
      <div class="track">
        <BadSteps steps={steps} bad={[...store.recorded.badSteps.value.keys()]} />
        <input
          type="range"
          class="slider"
          data-testid="slider"
          aria-label="Step"
          min={0}
          max={Math.max(0, steps.length - 1)}
          step={1}
          value={at}
          aria-valuetext={`step ${ref.step}`}
          disabled={steps.length < 2}
          onInput={(event) => goToStep(store, steps[event.currentTarget.valueAsNumber] ?? ref.step, ref.backwardPass)}
        />
        <Lanes store={store} steps={steps} select={select} />
      </div>
      <label class="choice">
        <span>Step</span>
        <input
          type="text"
          inputMode="numeric"
          class="number"
          data-testid="step"
          value={ref.step}
          size={7}
          onChange={(event) => typeStep(store, event.currentTarget)}
        />
      </label>
      <span class="faint" data-testid="step-count">
        {at + 1} of {steps.length}
      </span>
      {!store.alone && <Follow store={store} />}
      {stages.length > 1 && store.place.half.value === "gradient" && (
        <label class="choice" title="Where in the step the gradients were read. After the backward only parameters have gradients.">
          <span>Stage</span>
          <select data-testid="stage" value={ref.stage} onChange={(event) => chooseStage(store, event.currentTarget.value)}>
            {stages.map((stage) => (
              <option key={stage} value={stage}>
                {stage}
              </option>
            ))}
          </select>
        </label>
      )}
      {passes.length > 1 && (
        <label class="choice">
          <span>Pass</span>
          <select
            data-testid="pass"
            value={ref.backwardPass}
            onChange={(event) => goToStep(store, ref.step, Number(event.currentTarget.value))}
          >
            {passes.map((pass) => (
              <option key={pass} value={pass}>
                {pass + 1} of {passes.length}
              </option>
            ))}
          </select>
        </label>
      )}
      <Told records={records} shown={ref} />
    </footer>
  );
}

// Over the slider, ticks at steps with NaN or infinity, or a bar for as long as they last. Of those closer than a tick one is drawn.
function BadSteps({ steps, bad }: { readonly steps: readonly number[]; readonly bad: readonly number[] }): JSX.Element | null {
  if (bad.length === 0) return null;
  const last = Math.max(1, steps.length - 1);
  const placeOf = new Map(steps.map((step, at) => [step, Math.round((at / last) * TICKS)]));
  const spans = new Map(lastingSpans(steps, new Set(bad)).map((span) => [placeOf.get(span[0])!, span]));
  return (
    <div class="ticks" data-testid="bad-steps" data-steps={bad.join()}>
      {[...spans].map(([place, [from, to]]) => (
        <i
          key={place}
          class={from === to ? "" : "lasting"}
          title={`${from === to ? `step ${from}` : `steps ${from}–${to}`}: NaN or inf`}
          style={{ left: `${(100 * place) / TICKS}%`, width: `calc(${(100 * (placeOf.get(to)! - place)) / TICKS}% + 3px)` }}
        />
      ))}
    </div>
  );
}

// Goes to the nearest recorded step. If the text is not a number, the old one is put back.
function typeStep(store: Store, input: HTMLInputElement): void {
  const step = Number(input.value);
  if (input.value.trim() !== "" && Number.isFinite(step)) goToStep(store, step);
  input.value = String(store.place.ref.value?.step ?? "");
}

export function togglePlay(store: Store): void {
  const records = store.place.tag.value?.records ?? [];
  const atEnd = store.place.ref.value?.step === records[records.length - 1]?.step;
  // At the end, playing starts over.
  if (!store.live.playing.value && atEnd) moveSteps(store, -Infinity);
  store.live.playing.value = !store.live.playing.value;
}

// Moves on only when the previous step has arrived. So a slow server makes playing slower, and no step is skipped.
function usePlaying(store: Store): void {
  const playing = store.live.playing.value;
  useEffect(() => {
    if (!playing) return undefined;
    const timer = setInterval(() => {
      const ref = store.place.ref.peek();
      const record = store.recorded.record.peek();
      if (record?.step !== ref?.step) return;
      moveSteps(store, 1);
      if (store.place.ref.peek() === ref) store.live.playing.value = false;
    }, PLAY_MS);
    return () => clearInterval(timer);
  }, [playing]);
}

// Whether the latest step is followed, how many new steps there are, and whether the server still answers.
function Follow({ store }: { readonly store: Store }): JSX.Element {
  const [follow, unseen] = [store.live.follow.value, store.live.unseen.value];
  return (
    <span class="follow">
      <button
        type="button"
        class="toggle"
        data-testid="follow"
        aria-pressed={follow}
        title={
          follow
            ? "Each new step is shown as it arrives. To stop this, go to another step. (L)"
            : "New steps are added, and the shown step stays. Press this to go to each new step as it arrives. (L)"
        }
        onClick={() => setFollow(store, !follow)}
      >
        Follow latest
      </button>
      <span class="faint" data-testid="unseen" data-count={unseen} role="status">
        {unseen > 0 && `${formatCount(unseen)} new`}
      </span>
      {store.live.unreachable.value && (
        <span
          class="unreachable"
          data-testid="unreachable"
          role="status"
          title="TensorBoard does not answer. Is it still running? The panel asks again every few seconds."
        >
          not connected
        </span>
      )}
    </span>
  );
}

// Notes about the step: the GradScaler's factor, a skipped step, how often steps are recorded and at what cost.
function Told({ records, shown }: { readonly records: readonly RecordRef[]; readonly shown: RecordRef }): JSX.Element {
  const { lossScale, everyNSteps, cost } = shown;
  const before = everyNSteps > 0 ? cadenceBefore(records, shown) : undefined;
  // Whether a step is skipped is known only after its backward.
  const skipped = records.some((record) => record.step === shown.step && record.skipped);
  return (
    <span class="told" data-testid="told">
      {skipped && (
        <b
          class="skipped"
          data-testid="skipped"
          title="The GradScaler skipped this optimizer step: gradients were not finite. No weight changed."
        >
          skipped
        </b>
      )}
      {lossScale !== 1 && (
        <span class="faint" data-testid="loss-scale" title="A GradScaler's factor on the loss. It is divided out of all numbers here.">
          loss scale {formatNumber(lossScale)}
        </span>
      )}
      {everyNSteps > 0 && (
        <span class="faint" data-testid="cadence" title={cadenceTitle(everyNSteps, cost)}>
          every {everyNSteps === 1 ? "step" : `${formatCount(everyNSteps)} steps`}
          {before !== undefined && ` (${formatCount(before.everyNSteps)} until step ${before.until})`}
          {cost > 0 && `, cost ${percent(cost)}`}
        </span>
      )}
    </span>
  );
}

function cadenceTitle(everyNSteps: number, cost: number): string {
  const often = everyNSteps === 1 ? "Every step was recorded then." : `Every ${formatCount(everyNSteps)}th step was recorded then.`;
  return cost > 0 ? `${often} Recording took ${percent(cost)} of the time since the previous recorded step.` : often;
}

function percent(share: number): string {
  return `${formatNumber(Number((100 * share).toPrecision(2)))} %`;
}
