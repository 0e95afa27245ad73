// A parameter at one step: its gradient at each stage, then the weight and how far it moved.

import type { JSX } from "preact";
import type { NodeSeries } from "../../../api/parse";
import { formatNumber, plainNumber } from "../../../base/format";
import type { Result } from "../../../base/result";
import { labelOf } from "../../../model/recorded/complex";
import { BACKWARD } from "../../../model/recorded/run";
import { measureOf } from "../../../model/recorded/statistics";
import { chooseStage } from "../../../state/actions";
import { nonfiniteIn, numberIn } from "../../chart/lines";
import { Section } from "../../controls/section";
import type { Session } from "../../session/session";
import { Facts } from "./card_parts";

const COLUMNS: readonly string[] = ["l2_norm", "mean", "std", "abs_max"];

export function Stages({
  session: { store },
  reply,
  complex,
}: {
  readonly session: Session;
  readonly complex: boolean;
  readonly reply: Result<NodeSeries> | undefined;
}): JSX.Element | null {
  const ref = store.place.ref.value;
  if (reply === undefined || !reply.ok || ref === undefined) return null;
  const series = reply.value;
  // The numbers of the previous step stay until those of the new one arrive.
  const step = Math.min(ref.step, series.steps.at(-1) ?? ref.step);
  const here = series.steps.map((_, i) => i).filter((i) => series.steps[i] === step && series.present[i] === 1);
  const stages = new Set(here.map((i) => series.stages[i]));
  const passes = here.filter((i) => series.stages[i] === BACKWARD).length;
  return (
    <>
      {stages.size > 1 && (
        <Section title="Gradient at each stage of this step" id="stages">
          <table class="numbers stages">
            <thead>
              <tr>
                <td />{" "}
                {COLUMNS.map((name) => (
                  <th key={name} scope="col">
                    {labelOf(name, measureOf(name)!.label, complex)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {here.map((i) => {
                const [stage, pass] = [series.stages[i]!, series.backwardPasses[i]!];
                const shown = stage === ref.stage && pass === ref.backwardPass;
                return (
                  <tr key={i} class={shown ? "marked" : ""} data-stage={stage} data-pass={pass}>
                    <th scope="row">
                      <button type="button" class="link" onClick={() => chooseStage(store, stage, pass)}>
                        {stage}
                        {stage === BACKWARD && passes > 1 && ` ${pass + 1}`}
                      </button>
                    </th>
                    {COLUMNS.map((name) => (
                      <Cell key={name} name={name} value={numberIn(series, name, i)} nonfinite={nonfiniteIn(series, i)} />
                    ))}
                  </tr>
                );
              })}
            </tbody>
          </table>
        </Section>
      )}
      <Weight series={series} record={here.at(-1)} />
    </>
  );
}

// If no element is finite, there is a gradient but no number.
function Cell({
  name,
  value,
  nonfinite,
}: {
  readonly name: string;
  readonly value: number | undefined;
  readonly nonfinite: number | undefined;
}): JSX.Element {
  const told = value ?? nonfinite;
  return (
    <td
      class={value === undefined && told !== undefined ? "bad" : ""}
      data-statistic={name}
      data-value={told === undefined ? "none" : plainNumber(told)}
    >
      {told === undefined ? "–" : formatNumber(told)}
    </td>
  );
}

// The weight was too large to copy, so only a sample of it was read.
function Estimate({ update, spread }: { readonly update: JSX.Element; readonly spread: number }): JSX.Element {
  return (
    <span data-testid="estimate" title="An estimate and its standard error: this weight did not fit into update_memory= of watch().">
      ≈ {update} ± {formatNumber(spread)}
    </span>
  );
}

// The norms of the weight before the step and of the update.
function Weight({ series, record }: { readonly series: NodeSeries; readonly record: number | undefined }): JSX.Element | null {
  if (record === undefined) return null;
  const [weight, update, ratio, spread] = ["weight_norm", "update_norm", "update_ratio", "update_spread"].map((name) =>
    numberIn(series, name, record),
  );
  if (weight === undefined && update === undefined) return null;
  const text = (value: number | undefined): JSX.Element => (
    <span data-value={value === undefined ? "none" : plainNumber(value)}>{value === undefined ? "–" : formatNumber(value)}</span>
  );
  return (
    <Section title="Weight at this step, L2 norms" id="weight">
      <Facts
        facts={[
          ["weight before", text(weight)],
          ["update", spread === undefined ? text(update) : <Estimate update={text(update)} spread={spread} />],
          ["update / weight", text(ratio)],
        ]}
      />
    </Section>
  );
}
