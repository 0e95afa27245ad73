// Lays out the visible graph in a worker, and remembers what was laid out.

import ELK, { type ELK as Elk } from "elkjs/lib/elk-api";
import type { Size } from "../base/geometry";
import { failure, success, type Result } from "../base/result";
import type { VisibleGraph } from "../model/collapse";
import { fromElk, toElk } from "./elk_graph";
import type { LaidOut } from "./laid_out";
import { stackBoxes } from "./stack";

const REMEMBERED = 40;

export class LayoutEngine {
  private readonly elk: Elk;
  private readonly known = new Map<string, Promise<Result<LaidOut>>>();

  // `workerUrl`: of the same worker, where the file beside this one cannot be loaded; in a page of a file, a worker of modules cannot.
  constructor(workerUrl?: string) {
    // Written literally: only so does the bundler give the worker its own file.
    const workerFactory = (): Worker => workerUrl !== undefined ? new Worker(workerUrl) : new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    this.elk = new ELK({ workerFactory });
  }

  // `key` names the visible graph: equal keys give the same layout, without a new run.
  layOut(key: string, visible: VisibleGraph, sizes: readonly Size[]): Promise<Result<LaidOut>> {
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const run = this.run(visible, sizes);
    this.known.set(key, run);
    const oldest = this.known.keys().next().value;
    if (this.known.size > REMEMBERED && oldest !== undefined) this.known.delete(oldest);
    return run;
  }

  private async run(visible: VisibleGraph, sizes: readonly Size[]): Promise<Result<LaidOut>> {
    if (visible.boxes.length === 0) return failure("The graph has no nodes.");
    try {
      return success(fromElk(await this.elk.layout(toElk(visible, sizes)), visible));
    } catch (error) {
      // ELK has known failures on some graphs; a plain stack is still readable.
      console.warn("gradgraph: layout failed, boxes are stacked instead.", error);
      return success(stackBoxes(visible, sizes));
    }
  }

  close(): void {
    this.elk.terminateWorker();
  }
}
