import { describe, expect, test } from "vitest";
import { chainRule, states } from "../../fixtures/examples.mjs";
import type { NodeHeader, StepHeader } from "../../src/api/contract";
import { parseFrame } from "../../src/api/frame";
import { parseNodeSeries, parseNumber } from "../../src/api/parse";
import { formatNumber, plainNumber } from "../../src/base/format";
import { numberAt } from "../../src/model/recorded/record";
import { formatAddress, parseAddress } from "../../src/state/address";
import { frameBytes, recordAt } from "../fixture";

describe("frames", () => {
  test("a step is read with its statistics, presence and whole arrays", () => {
    const record = recordAt(chainRule(), 0);
    expect(record.rows).toBe(9);
    expect(numberAt(record, "mean", 7)).toBe(-4);
    expect(numberAt(record, "l2_norm", 1)).toBeUndefined();
    expect(record.whole.get(0)).toEqual({ gradient: [4], value: [3] });
    expect(record.whole.get(1)).toEqual({ gradient: undefined, value: [2] });
  });

  test("non-finite elements arrive as themselves", () => {
    expect(recordAt(states(), 10).whole.get(2)?.gradient).toEqual([NaN, 1]);
    expect(recordAt(states(), 10).whole.get(5)?.gradient).toEqual([Infinity]);
    expect(["NaN", "Infinity", "-Infinity", 1.5].map((wire) => parseNumber(wire as number))).toEqual([NaN, Infinity, -Infinity, 1.5]);
  });

  test("arrays begin at multiples of eight bytes", () => {
    const buffer = frameBytes(states(), "step", { step: "0" });
    expect((4 + new DataView(buffer).getUint32(0, true)) % 8).toBe(0);
    const frame = parseFrame<StepHeader>(buffer);
    expect(frame.ok && frame.value.arrays.get("values")!.byteOffset % 8).toBe(0);
  });

  test("the series of a node has one entry per record", () => {
    const frame = parseFrame<NodeHeader>(frameBytes(states(), "node", { row: "3" }));
    const series = frame.ok ? parseNodeSeries(frame.value) : frame;
    expect(series).toMatchObject({ ok: true, value: { steps: [0, 10, 20] } });
  });

  test("every kind of truncation gives a message, not an exception", () => {
    const whole = frameBytes(chainRule(), "step", { step: "0" });
    for (const length of [0, 3, 4, 40, whole.byteLength - 16]) {
      const reply = parseFrame(whole.slice(0, length));
      expect(reply).toEqual({ ok: false, error: expect.stringMatching(/\.$/) });
    }
    expect(parseFrame(new TextEncoder().encode("\x04\0\0\0nope").buffer)).toMatchObject({ ok: false });
  });
});

describe("address", () => {
  const view = {
    run: "a/b & c",
    tag: "loss=1",
    step: 120,
    pass: 1,
    stat: "mean",
    dir: "forward",
    sel: "lin#2/Mm|x",
    open: ["#0", "a|b#1"],
  } as const;

  test("a view is the same after it was written to a link and read back", () => {
    expect(parseAddress(`#${formatAddress("#gradgraph", view)}`)).toMatchObject(view);
  });

  test("keys of others are kept, our old ones are not", () => {
    const hash = formatAddress("#gradgraph&runFilter=x&p.gradgraph.run=old&p.other.run=keep", { run: "new" });
    expect(hash).toBe("gradgraph&runFilter=x&p.other.run=keep&p.gradgraph.run=new");
  });

  test("nonsense in a link is left out", () => {
    expect(parseAddress("#gradgraph&p.gradgraph.step=abc&p.gradgraph.dir=up&p.gradgraph.run=%E0%A4%A")).toMatchObject({
      step: undefined,
      dir: undefined,
      run: "%E0%A4%A",
    });
  });

  test("a long list of open groups is not put into the link", () => {
    const open = Array.from({ length: 200 }, (_, i) => `block.${i}#0`);
    expect(formatAddress("", { open })).toBe("");
  });
});

test("numbers have one form", () => {
  expect([0, 4, -4, 0.25, 28, 1234.5678, 1e-5, 123456, NaN, Infinity, -Infinity, 0.1 + 0.2].map(formatNumber)).toEqual([
    "0",
    "4",
    "−4",
    "0.25",
    "28",
    "1235",
    "1e−5",
    "1.23e5",
    "NaN",
    "+∞",
    "−∞",
    "0.3",
  ]);
  expect([0.1 + 0.2, -4, NaN].map(plainNumber)).toEqual(["0.3", "-4", "NaN"]);
});
