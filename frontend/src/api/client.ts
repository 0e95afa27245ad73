// Sends requests to the plugin's routes. URLs are relative to the frame's <base>, so they work
// below any --path_prefix or proxy.

import { pause, PAUSES_FROM } from "../base/pause";
import { failure, success, type Result } from "../base/result";
import { FORWARD, MOST_SEARCHED, NONFINITE, type WhatKept } from "../base/vocabulary";
import type { OfRuns } from "../model/charts/run_parameters";
import type { RunFindings } from "../model/findings/run_findings";
import { badStepsOf, type BadSteps, type Reading } from "../model/recorded/bad_steps";
import { parseGraph, type Graph } from "../model/recorded/graph";
import type { Half, RecordedStep } from "../model/recorded/record";
import type { RecordRef, Run } from "../model/recorded/run";
import type { Quantities } from "../model/flow/scalar_line";
import type { Magnitudes } from "../model/recorded/statistics";
import type { FindingsReply } from "./contract";
import { parseFrame, type Frame } from "./frame";
import {
  parseNodeSeries,
  parseQuantities,
  parseRecord,
  parseRunFindings,
  parseRuns,
  parseTensor,
  readingsAbove,
  type NodeSeries,
} from "./parse";
import { urlOf, type FrameRequests, type JsonRequests, type Requests, type Route } from "./requests";

// Fetches an answer: from the server, or from the contents of a file.
export type Fetch = (url: string) => Promise<Response>;

// Which record of a tag.
export type Place = Pick<RecordRef, "step" | "backwardPass" | "stage">;

function askedOf(run: string, tag: string, { step, backwardPass, stage }: Place): Requests["step"]["asks"] {
  return { run, tag, step, backward_pass: backwardPass, stage };
}

// Gradients are requested at all stages together.
function stageOf(half: Half): { readonly stage?: string } {
  return half === "value" ? { stage: FORWARD } : {};
}

export class Client {
  constructor(
    private readonly base = "./",
    private readonly answer: Fetch = (url) => fetch(url, { credentials: "same-origin" }),
  ) {}

  // With `allSessions`, hidden sessions are listed too, as runs.
  async runs(allSessions = false): Promise<Result<readonly Run[]>> {
    const reply = await this.json("runs", allSessions ? { sessions: "all" } : {});
    return reply.ok ? success(parseRuns(reply.value)) : reply;
  }

  // A word that changes whenever the answer of `runs` does.
  async pulse(): Promise<Result<string>> {
    const reply = await this.json("pulse", {});
    return reply.ok ? success(reply.value.pulse) : reply;
  }

  async graph(run: string, hash: string): Promise<Result<Graph>> {
    const reply = await this.json("graph", { run, hash });
    if (reply.ok && reply.value.rows > PAUSES_FROM) await pause();
    return reply.ok ? parseGraph(reply.value) : reply;
  }

  async step(run: string, tag: string, record: Place): Promise<Result<RecordedStep>> {
    const reply = await this.frame("step", askedOf(run, tag, record));
    return reply.ok ? parseRecord(reply.value) : reply;
  }

  // The range of the magnitudes over all records of a tag, if there are any.
  async magnitudes(run: string, tag: string, hash: string, statistic: string, half: Half): Promise<Result<Magnitudes | undefined>> {
    const reply = await this.frame("series", { run, tag, hash, statistic, from: 0, count: 1, ...stageOf(half) });
    if (!reply.ok) return reply;
    const { domain, fences } = reply.value.header;
    return success(domain === null ? undefined : { domain, fences: fences ?? domain });
  }

  // Steps at which a gradient in any of these graphs held NaN or infinity. If the tag has no such
  // step, three short answers show it. Graphs with too many numbers to search are left out.
  async nonfiniteSteps(run: string, tag: string, hashes: readonly string[], half: Half): Promise<Result<BadSteps>> {
    const readings: Reading[] = [];
    for (const statistic of NONFINITE) {
      let left = MOST_SEARCHED;
      for (const hash of hashes) {
        const first = await this.frame("series", { run, tag, hash, statistic, from: 0, count: 1, ...stageOf(half) });
        if (!first.ok) return first;
        const { domain, rows, total } = first.value.header;
        if (domain === null) break; // no graph of the tag has any
        if (rows * total > left) continue;
        left -= rows * total;
        const reply = total < 2 ? first : await this.frame("series", { run, tag, hash, statistic, ...stageOf(half) });
        if (reply.ok) readings.push(...readingsAbove(reply.value, 0));
      }
    }
    return success(badStepsOf(readings));
  }

  async node(run: string, tag: string, hash: string, row: number, half: Half = "gradient"): Promise<Result<NodeSeries>> {
    const reply = await this.frame("node", { run, tag, hash, row, ...stageOf(half) });
    return reply.ok ? parseNodeSeries(reply.value) : reply;
  }

  // The same by the key of the row, in any graph.
  async nodeOfKey(run: string, tag: string, key: string, half: Half): Promise<Result<NodeSeries>> {
    const reply = await this.frame("node", { run, tag, key, ...stageOf(half) });
    return reply.ok ? parseNodeSeries(reply.value) : reply;
  }

  // A tensor that was kept whole and is too large to come with its step.
  async tensor(record: Place & Pick<RecordedStep, "run" | "tag">, row: number, what: WhatKept): Promise<Result<readonly number[]>> {
    const { run, tag } = record;
    const reply = await this.frame("tensor", { ...askedOf(run, tag, record), row, what });
    return reply.ok ? parseTensor(reply.value) : reply;
  }

  // The numbers of each step as a whole.
  async quantities(run: string, tag: string): Promise<Result<Quantities>> {
    const reply = await this.json("quantities", { run, tag });
    return reply.ok ? success(parseQuantities(reply.value)) : reply;
  }

  // TensorBoard's hyperparameters of each run that has any.
  async hyperparameters(): Promise<Result<OfRuns>> {
    const reply = await this.json("hparams", {});
    return reply.ok ? success(new Map(Object.entries(reply.value.runs).map(([run, of]) => [run, new Map(Object.entries(of))]))) : reply;
  }

  findings(run: string, tag: string, record: Place): Promise<Result<FindingsReply>> {
    return this.json("findings", askedOf(run, tag, record));
  }

  // Of the training as a whole.
  async runFindings(run: string, tag: string): Promise<Result<RunFindings>> {
    const reply = await this.json("run_findings", { run, tag });
    return reply.ok ? success(parseRunFindings(reply.value)) : reply;
  }

  async json<R extends keyof JsonRequests>(route: R, asks: JsonRequests[R]["asks"]): Promise<Result<JsonRequests[R]["gives"]>> {
    const reply = await this.ask(route, asks);
    if (!reply.ok) return reply;
    try {
      return success((await reply.value.json()) as JsonRequests[R]["gives"]);
    } catch {
      return failure(`The answer of "${route}" is not JSON.`);
    }
  }

  async frame<R extends keyof FrameRequests>(route: R, asks: FrameRequests[R]["asks"]): Promise<Result<Frame<FrameRequests[R]["gives"]>>> {
    const reply = await this.ask(route, asks);
    if (!reply.ok) return reply;
    try {
      return parseFrame<FrameRequests[R]["gives"]>(await reply.value.arrayBuffer());
    } catch {
      return failure(`The answer of "${route}" was cut off.`);
    }
  }

  private async ask<R extends Route>(route: R, asks: Requests[R]["asks"]): Promise<Result<Response>> {
    try {
      const response = await this.answer(urlOf(this.base, route, asks));
      return response.ok ? success(response) : failure(await sentenceOf(response, route));
    } catch {
      return failure("TensorBoard does not answer. Is it still running?");
    }
  }
}

// The server's own message, if it sent one.
async function sentenceOf(response: Response, route: string): Promise<string> {
  const fallback = `TensorBoard answered ${response.status} to "${route}".`;
  try {
    const body: unknown = await response.json();
    const sentence = typeof body === "object" && body !== null && "error" in body ? body.error : undefined;
    return typeof sentence === "string" ? sentence : fallback;
  } catch {
    return fallback;
  }
}
