// Typed access to the made-up runs, and a fetch that answers from them.

import { answer as answerUntyped } from "../fixtures/build.mjs";
import type { Elsewhere, Finding, FlowHeader, RunFindingsReply, StepHeader } from "../src/api/contract";
import { parseFrame } from "../src/api/frame";
import { parseRecord } from "../src/api/parse";
import { parsePage } from "../src/api/read_flow";
import { computeFlow, type Flow } from "../src/model/flow/flow";
import { parseGraph } from "../src/model/recorded/graph";
import type { GraphColumns } from "../src/model/recorded/graph_columns";
import type { RecordedStep } from "../src/model/recorded/record";
import { DEFAULT_STATISTIC, type Magnitudes, type Statistic } from "../src/model/recorded/statistics";
import { buildHierarchy, type Hierarchy } from "../src/model/tree/hierarchy";

export interface FixtureRun {
  readonly run: string;
  readonly tag: string;
  readonly graph: GraphColumns;
  readonly records: readonly { readonly step: number }[];
  readonly findings?: readonly Finding[];
  readonly elsewhere?: readonly Elsewhere[];
  readonly runFindings?: RunFindingsReply;
}

interface Found {
  readonly json?: unknown;
  readonly frame?: Uint8Array<ArrayBuffer>;
}

const answer = answerUntyped as (runs: readonly FixtureRun[], route: string, params: URLSearchParams) => Found | undefined;

export function hierarchyOf(run: FixtureRun): Hierarchy {
  const graph = parseGraph(run.graph);
  if (!graph.ok) throw new Error(graph.error);
  return buildHierarchy(graph.value);
}

export function frameBytes(run: FixtureRun, route: string, params: Record<string, string>): ArrayBuffer {
  const found = answer([run], route, new URLSearchParams({ run: run.run, tag: run.tag, hash: run.graph.hash, ...params }));
  if (found?.frame === undefined) throw new Error(`no frame for ${route}`);
  return found.frame.buffer;
}

export function recordAt(run: FixtureRun, step: number, stage?: string): RecordedStep {
  const frame = parseFrame<StepHeader>(frameBytes(run, "step", { step: String(step), ...(stage === undefined ? {} : { stage }) }));
  if (!frame.ok) throw new Error(frame.error);
  const record = parseRecord(frame.value);
  if (!record.ok) throw new Error(record.error);
  return record.value;
}

// Answers the plugin's routes from fixtures; everything else goes through. Returns its removal.
export function serveFixtures(runs: () => readonly FixtureRun[], fail: () => string | undefined = () => undefined): () => void {
  const original = window.fetch;
  window.fetch = async (input, init) => {
    const url = new URL(String(input), "http://panel/");
    if (!String(input).startsWith("./fixture/")) return original(input, init);
    const sentence = fail();
    if (sentence !== undefined) return Response.json({ error: sentence }, { status: 404 });
    const found = answer(runs(), url.pathname.split("/fixture/")[1] ?? "", url.searchParams);
    if (found?.frame !== undefined) return new Response(found.frame);
    return found === undefined ? Response.json({ error: "There is no such thing." }, { status: 404 }) : Response.json(found.json);
  };
  return () => {
    window.fetch = original;
  };
}

export function flowOf(run: FixtureRun, statistic: Statistic = DEFAULT_STATISTIC, stage = "backward"): Flow {
  const hierarchy = hierarchyOf(run);
  const parts = statistic.columns.map((column) => {
    const pages = [];
    for (let from = 0; ;) {
      const frame = parseFrame<FlowHeader>(
        frameBytes(run, "flow", { statistic: column, stage, backward_pass: "0", every: "1", from: String(from) }),
      );
      const page = frame.ok ? parsePage(frame.value) : frame;
      if (!page.ok) throw new Error(page.error);
      pages.push(page.value);
      from += page.value.steps.length;
      if (from >= page.value.total) return pages;
    }
  });
  const [first] = parts;
  const numbers = {
    steps: first!.flatMap(({ steps }) => steps),
    slots: first![0]!.slots,
    values: parts.map((pages) => Float32Array.from(pages.flatMap(({ values }) => [...values]))),
    arrived: Uint8Array.from(first!.flatMap(({ arrived }) => [...arrived])),
  };
  return computeFlow(hierarchy, numbers, statistic, stage, 1);
}

// Numbers from end to end, none far outside.
export function spread(low: number, high: number): Magnitudes {
  return { domain: [low, high], fences: [low, high] };
}

// A statistic of the user's own, which only one row has.
export const OWN = "own";

export function withOwn(record: RecordedStep, row: number, number: number): RecordedStep {
  const column = new Float32Array(record.rows).fill(NaN);
  column[row] = number;
  return { ...record, statistics: [...record.statistics, OWN], values: Float32Array.from([...record.values, ...column]) };
}
