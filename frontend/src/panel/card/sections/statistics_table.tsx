// All statistics of one row at the step; of both records while two are compared.

import type { JSX } from "preact";
import { formatCount, formatNumber, plainNumber } from "../../../base/format";
import { COUNTS, NONFINITE } from "../../../base/vocabulary";
import { labelOf } from "../../../model/recorded/complex";
import { isOfParameters, numberAt, type RecordedStep } from "../../../model/recorded/record";
import { measureOf, type Statistic } from "../../../model/recorded/statistics";
import { plainRatio, ratioOf, relateNumbers } from "../../controls/compared_number";
import { Section } from "../../controls/section";

// The same tensor in the other record; row -1: it does not exist there.
export interface There {
  readonly record: RecordedStep;
  readonly row: number;
}

interface TableProps {
  readonly record: RecordedStep | undefined;
  readonly row: number;
  readonly statistic: Statistic;
  readonly why: string | undefined; // why there is no gradient
  readonly complex: boolean;
  readonly there?: There | undefined;
}

export function StatisticsTable(props: TableProps): JSX.Element {
  const { record, row, why, there } = props;
  const arrived = record?.present[row] === 1;
  return (
    <Section title={`Gradient at this step${record !== undefined && isOfParameters(record) ? `, ${record.stage}` : ""}`} id="statistics">
      {!arrived && (
        <p class="faint" data-testid="why">
          {why ?? "No gradient arrived here."}
        </p>
      )}
      {there !== undefined && <Compared {...props} there={there} />}
      {there === undefined && arrived && record !== undefined && (
        <table class="numbers two">
          <tbody>
            {listed(record).map((name) => (
              <Line
                key={name}
                name={name}
                complex={props.complex}
                value={numberAt(record, name, row)}
                marked={props.statistic.columns.includes(name)}
              />
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}

function listed(record: RecordedStep): readonly string[] {
  return record.statistics.filter((name) => measureOf(name)?.ofParameters !== true);
}

function titleOf(name: string, complex: boolean): string {
  return labelOf(name, measureOf(name)?.label ?? name, complex);
}

function Line({
  name,
  complex,
  value,
  marked,
}: {
  readonly name: string;
  readonly complex: boolean;
  readonly value: number | undefined;
  readonly marked: boolean;
}): JSX.Element {
  return (
    <tr class={marked ? "marked" : ""} data-statistic={name} data-value={plain(value)}>
      <th scope="row">{titleOf(name, complex)}</th>
      <td class={isBad(name, value) ? "bad" : ""}>{spelt(name, value)}</td>
    </tr>
  );
}

function Compared({ record, row, statistic, complex, there }: TableProps & { readonly there: There }): JSX.Element {
  if (there.row === -1)
    return (
      <p class="faint" data-testid="only-here">
        Only here: the other side of the comparison has no such tensor.
      </p>
    );
  return (
    <table class="numbers compared">
      <thead>
        <tr>
          <td />
          <th scope="col">here</th>
          <th scope="col">there</th>
          <th scope="col">here ÷ there</th>
        </tr>
      </thead>
      <tbody>
        {listed(there.record).map((name) => {
          const [here, other] = [record && numberAt(record, name, row), numberAt(there.record, name, there.row)];
          const related = relateNumbers(here, other, true);
          return (
            <tr
              key={name}
              class={statistic.columns.includes(name) ? "marked" : ""}
              data-statistic={name}
              data-value={plain(here)}
              data-there={plain(other)}
              data-ratio={plainRatio(related)}
            >
              <th scope="row">{titleOf(name, complex)}</th>
              <td class={isBad(name, here) ? "bad" : ""}>{spelt(name, here)}</td>
              <td class={isBad(name, other) ? "bad" : ""}>{spelt(name, other)}</td>
              <td>{ratioOf(related)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function isBad(name: string, value: number | undefined): boolean {
  return NONFINITE.includes(name) && (value ?? 0) > 0;
}

function spelt(name: string, value: number | undefined): string {
  return value === undefined ? "–" : COUNTS.includes(name) ? formatCount(value) : formatNumber(value);
}

function plain(value: number | undefined): string {
  return value === undefined ? "none" : plainNumber(value);
}
