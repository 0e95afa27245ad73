// All requests of the panel: each route with its parameters and the type of its answer. http_api.md
// describes them in words. The client uses this list to ask. A standalone file uses it to find its
// answers.

import type { WhatKept } from "../base/vocabulary";
import type { GraphColumns } from "../model/recorded/graph_columns";
import type {
  FindingsReply,
  FlowHeader,
  NodeHeader,
  QuantitiesReply,
  RunFindingsReply,
  RunsReply,
  ScalarHeader,
  SeriesHeader,
  StepHeader,
  TensorHeader,
} from "./contract";

interface OfRun {
  readonly run: string;
}
interface OfTag extends OfRun {
  readonly tag: string;
}
interface OfGraph extends OfTag {
  readonly hash: string;
}
interface OfRecord extends OfTag {
  readonly step: number;
  readonly backward_pass: number;
  readonly stage: string;
}
// Without a stage: gradients of all stages.
interface AtStage {
  readonly stage?: string;
}
interface Part {
  readonly from?: number;
  readonly count?: number;
}

export interface JsonRequests {
  readonly runs: { readonly asks: { readonly sessions?: "all" }; readonly gives: RunsReply };
  readonly pulse: { readonly asks: object; readonly gives: { readonly pulse: string } };
  readonly graph: { readonly asks: OfRun & { readonly hash: string }; readonly gives: GraphColumns };
  readonly hparams: {
    readonly asks: object;
    readonly gives: { readonly runs: Readonly<Record<string, Readonly<Record<string, string | number | boolean>>>> };
  };
  readonly scalars: { readonly asks: OfRun; readonly gives: { readonly tags: readonly string[] } };
  readonly findings: { readonly asks: OfRecord; readonly gives: FindingsReply };
  readonly run_findings: { readonly asks: OfTag; readonly gives: RunFindingsReply };
  readonly quantities: { readonly asks: OfTag; readonly gives: QuantitiesReply };
}

// Their answers are frames: `gives` is the header.
export interface FrameRequests {
  readonly step: { readonly asks: OfRecord; readonly gives: StepHeader };
  readonly series: { readonly asks: OfGraph & Part & AtStage & { readonly statistic: string }; readonly gives: SeriesHeader };
  readonly flow: {
    readonly asks: OfGraph &
      Part & { readonly statistic: string; readonly stage: string; readonly backward_pass: number; readonly every: number };
    readonly gives: FlowHeader;
  };
  readonly scalar: { readonly asks: OfTag; readonly gives: ScalarHeader };
  readonly node: {
    readonly asks: AtStage & ((OfGraph & { readonly row: number }) | (OfTag & { readonly key: string }));
    readonly gives: NodeHeader;
  };
  readonly tensor: { readonly asks: OfRecord & { readonly row: number; readonly what: WhatKept }; readonly gives: TensorHeader };
}

export type Requests = JsonRequests & FrameRequests;
export type Route = keyof Requests;

// The names of the parameters, also if there are several shapes.
type NamesIn<Asks> = Asks extends unknown ? keyof Asks & string : never;

const RECORD = ["run", "tag", "step", "backward_pass", "stage"] as const;
const GRAPH = ["run", "tag", "hash"] as const;

export const PARAMETERS: { readonly [R in Route]: readonly NamesIn<Requests[R]["asks"]>[] } = {
  runs: ["sessions"],
  pulse: [],
  graph: ["run", "hash"],
  hparams: [],
  scalars: ["run"],
  findings: RECORD,
  run_findings: ["run", "tag"],
  quantities: ["run", "tag"],
  step: RECORD,
  series: [...GRAPH, "statistic", "stage", "from", "count"],
  flow: [...GRAPH, "statistic", "stage", "backward_pass", "every", "from", "count"],
  scalar: ["run", "tag"],
  node: [...GRAPH, "row", "key", "stage"],
  tensor: [...RECORD, "row", "what"],
};

export function urlOf<R extends Route>(base: string, route: R, asks: Requests[R]["asks"]): string {
  const query = new URLSearchParams(Object.entries(asks).map(([name, value]) => [name, String(value)]));
  return `${base}${route}${query.size > 0 ? `?${query}` : ""}`;
}

// A route with its parameters in the order of their names, so that equal requests have equal URLs.
export function keyOf(url: string): string {
  const { pathname, searchParams } = new URL(url, "http://file/");
  const route = pathname.slice(pathname.lastIndexOf("/") + 1);
  const names: readonly string[] = Object.hasOwn(PARAMETERS, route) ? PARAMETERS[route as Route] : [];
  return [
    route,
    ...names
      .filter((name) => searchParams.has(name))
      .map((name) => `${name}=${searchParams.get(name)}`)
      .sort(),
  ].join("\n");
}
