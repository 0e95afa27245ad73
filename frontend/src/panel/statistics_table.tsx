// All statistics of one row at the step.

import type { JSX } from "preact";
import { formatCount, formatNumber, plainNumber } from "../base/format";
import { isOfParameters, numberAt, type RecordedStep } from "../model/record";
import { OF_WEIGHTS, type Statistic } from "../model/statistics";
import { Section } from "./card_parts";

const COUNTS = new Set(["nan", "posinf", "neginf", "numel"]);
const NAMES: Readonly<Record<string, string>> = {
  l2_norm: "L2 norm", abs_max: "abs max", zero_fraction: "zero fraction",
  nan: "NaN", posinf: "+inf", neginf: "−inf", numel: "elements",
};

export function StatisticsTable({ record, row, statistic, why }: {
  readonly record: RecordedStep | undefined;
  readonly row: number;
  readonly statistic: Statistic;
  readonly why: string | undefined; // there is no gradient
}): JSX.Element {
  const arrived = record?.present[row] === 1;
  return (
    <Section title={`Gradient at this step${record !== undefined && isOfParameters(record) ? `, ${record.stage}` : ""}`} id="statistics">
      {arrived && record !== undefined ? (
        <table class="numbers two">
          <tbody>
            {record.statistics.filter((name) => !OF_WEIGHTS.includes(name)).map((name) => (
              <Line key={name} name={name} value={numberAt(record, name, row)} marked={statistic.columns.includes(name)} />
            ))}
          </tbody>
        </table>
      ) : (
        <p class="faint" data-testid="why">{why ?? "No gradient arrived here."}</p>
      )}
    </Section>
  );
}

function Line({ name, value, marked }: {
  readonly name: string;
  readonly value: number | undefined;
  readonly marked: boolean;
}): JSX.Element {
  const count = COUNTS.has(name);
  const bad = count && name !== "numel" && (value ?? 0) > 0;
  const text = value === undefined ? "–" : count ? formatCount(value) : formatNumber(value);
  return (
    <tr class={marked ? "marked" : ""} data-statistic={name} data-value={value === undefined ? "none" : plainNumber(value)}>
      <th scope="row">{NAMES[name] ?? name}</th>
      <td class={bad ? "bad" : ""}>{text}</td>
    </tr>
  );
}
