// A statistic of the user's own on the cards of nodes that have it and of nodes that do not.

import { render } from "preact";
import { expect, test } from "vitest";
import { bothHalves } from "../../fixtures/halves.mjs";
import { StatisticsTable, type There } from "../../src/panel/card/sections/statistics_table";
import { DEFAULT_STATISTIC } from "../../src/model/recorded/statistics";
import { OWN, recordAt, withOwn } from "../fixture";

const record = withOwn(recordAt(bothHalves(), 1), 1, 5);

function rowsOf(row: number, both: boolean, there?: There): readonly (string | undefined)[] {
  const place = document.createElement("div");
  const halves = { value: both ? record : undefined, gradient: record, both };
  const shared = { kind: "operation", statistic: DEFAULT_STATISTIC, why: { value: undefined, gradient: undefined }, complex: false };
  render(
    <StatisticsTable halves={halves} half="gradient" rows={{ value: row, gradient: row }} there={there && [there]} {...shared} />,
    place,
  );
  return [...place.querySelectorAll<HTMLElement>("[data-statistic]")].map(({ dataset }) => dataset.statistic);
}

test.each([
  ["alone", false, undefined],
  ["beside the value", true, undefined],
  ["compared", false, { record, row: 2 }],
] as const)("it is listed only where a tensor has it: %s", (_, both, there) => {
  expect(rowsOf(1, both, there)).toContain(OWN);
  expect(rowsOf(3, both, there)).not.toContain(OWN);
  expect(rowsOf(3, both, there)).toContain("std"); // a known one stays, with or without a number
});
