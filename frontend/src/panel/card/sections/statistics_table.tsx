// All statistics of one tensor at the step, of its value and of its gradient; of both records while two are compared.

import type { JSX } from "preact";
import { formatCount, formatNumber, plainNumber } from "../../../base/format";
import { COUNTS, NONFINITE } from "../../../base/vocabulary";
import { labelOf } from "../../../model/recorded/complex";
import { halfOf, halfWord, isOfParameters, numberAt, type Half, type RecordedStep } from "../../../model/recorded/record";
import { measureOf, type Statistic } from "../../../model/recorded/statistics";
import { plainRatio, rangeText, ratioOf, relateNumbers } from "../../controls/compared_number";
import type { Range } from "../../../model/compare/middle";
import { Section } from "../../controls/section";
import type { Halves } from "./halves_of";

// The same tensor in another record; row -1: it does not exist there.
export interface There {
  readonly record: RecordedStep;
  readonly row: number;
}

interface TableProps {
  readonly halves: Halves;
  readonly half: Half; // the shown one, which is compared
  readonly rows: Readonly<Record<Half, number>>; // they differ for a share of a gradient
  readonly kind: string | undefined; // of the node
  readonly statistic: Statistic;
  readonly why: Readonly<Record<Half, string | undefined>>; // why there is none
  readonly complex: boolean;
  readonly there?: readonly There[] | undefined; // one, or those of several runs
}

export function StatisticsTable(props: TableProps): JSX.Element {
  const { halves, half, there } = props;
  const record = halves[half];
  const shown: readonly Half[] = there !== undefined ? [half] : halves.both ? ["value", "gradient"] : ["gradient"];
  const stage =
    halves.gradient !== undefined && isOfParameters(halves.gradient) && shown.includes("gradient") ? `, ${halves.gradient.stage}` : "";
  const title = shown.map((one) => halfWord(one, props.kind)).join(" and ");
  return (
    <Section title={`${title[0]!.toUpperCase()}${title.slice(1)} at this step${stage}`} id="statistics">
      {shown.map((one) => (
        <Missing key={one} {...props} half={one} several={shown.length > 1} />
      ))}
      {there !== undefined && record !== undefined && <Compared {...props} record={record} row={props.rows[half]} there={there} />}
      {there === undefined && shown.length > 1 && <Both {...props} />}
      {there === undefined && shown.length === 1 && arrived(props, "gradient") && record !== undefined && (
        <table class="numbers two">
          <tbody>
            {listed(record, [record, props.rows[half]]).map((name) => (
              <Line
                key={name}
                name={name}
                complex={props.complex}
                value={numberAt(record, name, props.rows[half])}
                marked={props.statistic.columns.includes(name)}
              />
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}

function arrived({ halves, rows }: TableProps, half: Half): boolean {
  return halves[half]?.present[rows[half]] === 1;
}

// Why there is no gradient, or no value.
function Missing(props: TableProps & { readonly several: boolean }): JSX.Element | null {
  const { half, halves, why, kind, several } = props;
  if (arrived(props, half) || (several && halves[half] === undefined)) return null;
  const text = why[half] ?? (half === "value" ? "No value was read here." : "No gradient arrived here.");
  return (
    <p class="faint" data-testid={half === "value" ? "why-value" : "why"}>
      {several && <b>{halfWord(half, kind)} </b>}
      {text}
    </p>
  );
}

// Value and gradient side by side. A record that is still loading has no numbers yet.
function Both(props: TableProps): JSX.Element | null {
  const { halves, rows, kind, statistic, complex } = props;
  const record = halves.value ?? halves.gradient;
  if (record === undefined || !(["value", "gradient"] as const).some((half) => arrived(props, half))) return null;
  const cell = (name: string, half: Half): JSX.Element => {
    const found = halves[half];
    const value = found && numberAt(found, name, rows[half]);
    return <td class={isBad(name, value) ? "bad" : ""}>{found === undefined ? "…" : spelt(name, value)}</td>;
  };
  const number = (name: string, half: Half): string => plain(halves[half] && numberAt(halves[half], name, rows[half]));
  return (
    <table class="numbers compared">
      <thead>
        <tr>
          <td />
          <th scope="col">{halfWord("value", kind)}</th>
          <th scope="col">gradient</th>
        </tr>
      </thead>
      <tbody>
        {listed(record, [halves.value, rows.value], [halves.gradient, rows.gradient])
          .filter((name) => measureOf(name)?.ofValues !== true || number(name, "value") !== "none")
          .map((name) => (
            <tr
              key={name}
              class={statistic.columns.includes(name) ? "marked" : ""}
              data-statistic={name}
              data-value={number(name, "gradient")}
              data-forward={number(name, "value")}
            >
              <th scope="row">{titleOf(name, complex)}</th>
              {cell(name, "value")}
              {cell(name, "gradient")}
            </tr>
          ))}
      </tbody>
    </table>
  );
}

// A statistic of the user's own is left out if none of the tensors has it.
function listed(record: RecordedStep, ...tensors: readonly (readonly [RecordedStep | undefined, number])[]): readonly string[] {
  const ofValues = halfOf(record.stage) === "value";
  return record.statistics.filter((name) => {
    const measure = measureOf(name);
    if (measure === undefined) return tensors.some(([of, row]) => of !== undefined && numberAt(of, name, row) !== undefined);
    return measure.ofParameters !== true && (ofValues || measure.ofValues !== true);
  });
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

function Compared({
  record,
  row,
  statistic,
  complex,
  there,
}: Pick<TableProps, "statistic" | "complex"> & {
  readonly record: RecordedStep;
  readonly row: number;
  readonly there: readonly There[];
}): JSX.Element {
  const found = there.filter((one) => one.row !== -1);
  if (found.length === 0)
    return (
      <p class="faint" data-testid="only-here">
        Only here: the other side of the comparison has no such tensor.
      </p>
    );
  const several = there.length > 1;
  return (
    <table class="numbers compared">
      <thead>
        <tr>
          <td />
          <th scope="col">here</th>
          <th scope="col" title={several ? `of ${there.length} runs` : undefined}>
            {several ? "median, range" : "there"}
          </th>
          <th scope="col">{several ? "÷ median" : "here ÷ there"}</th>
        </tr>
      </thead>
      <tbody>
        {listed(found[0]!.record, [record, row], ...found.map((one) => [one.record, one.row] as const)).map((name) => {
          const here = numberAt(record, name, row);
          const related = relateNumbers(
            here,
            found.map((one) => numberAt(one.record, name, one.row)),
          );
          const other = Number.isNaN(related.there) ? undefined : related.there;
          return (
            <tr
              key={name}
              class={statistic.columns.includes(name) ? "marked" : ""}
              data-statistic={name}
              data-value={plain(here)}
              data-there={plain(other)}
              data-ratio={plainRatio(related)}
              data-range={related.range?.map(plainNumber).join()}
            >
              <th scope="row">{titleOf(name, complex)}</th>
              <td class={isBad(name, here) ? "bad" : ""}>{spelt(name, here)}</td>
              <td class={isBad(name, other) ? "bad" : ""}>
                {spelt(name, other)}
                <RangeLine range={related.range} />
              </td>
              <td>{ratioOf(related)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function RangeLine({ range }: { readonly range: Range | undefined }): JSX.Element | null {
  return range === undefined || range[0] === range[1] ? null : <small class="range">{rangeText(range)}</small>;
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
