// Lays out the visible graph in a worker, and caches the layouts.

import type { Size } from "../base/geometry";
import { failure, success, type Result } from "../base/result";
import type { VisibleGraph } from "../model/visible/collapse";
import { unpackLaid, type Answer, type LaidOut } from "./places/laid_out";
import { requestOf } from "./places/request";
import { addRows } from "./places/placed_rows";

const REMEMBERED = 40;
// From this many boxes on, a layout takes longer than starting a new worker.
const LONG_FROM = 500;
const STOPPED = failure("The layout was stopped.");

export class LayoutEngine {
  private worker: Worker | undefined;
  private running: { readonly boxes: number; readonly stop: () => void } | undefined;
  private last: Promise<unknown> = Promise.resolve();
  private wanted = "";
  private closed = false;
  private readonly known = new Map<string, Promise<Result<LaidOut>>>();

  // `workerUrl`: the URL of the worker, if its file next to this one cannot be loaded. A page that
  // was opened from a file cannot load module workers.
  constructor(private readonly workerUrl?: string) {
    this.worker = this.start(); // it takes half a second to load, while the graph is fetched
  }

  // `key` identifies the visible graph. Equal keys give the same layout without a new run. A long
  // run is ended when the next one begins. `onPart` gets the progress, 0..1. `tallest`: see LayoutRequest.
  layOut(
    key: string,
    visible: VisibleGraph,
    sizes: () => readonly Size[],
    onPart: (part: number) => void = () => {},
    tallest = 0,
  ): Promise<Result<LaidOut>> {
    this.wanted = key;
    const known = this.known.get(key);
    if (known !== undefined) return known;
    if ((this.running?.boxes ?? 0) > LONG_FROM) this.cancel();
    const run = this.last
      .then(() => (this.wanted === key ? this.run(visible, sizes(), onPart, tallest) : STOPPED))
      .then((reply) => {
        if (!reply.ok) this.known.delete(key);
        return reply;
      });
    this.last = run;
    this.known.set(key, run);
    const oldest = this.known.keys().next().value;
    if (this.known.size > REMEMBERED && oldest !== undefined) this.known.delete(oldest);
    return run;
  }

  private run(
    visible: VisibleGraph,
    sizes: readonly Size[],
    onPart: (part: number) => void,
    tallest: number,
  ): Result<LaidOut> | Promise<Result<LaidOut>> {
    if (this.closed) return STOPPED; // nothing would end the worker that starts now
    if (visible.boxes.length === 0) return failure("The graph has no nodes.");
    const worker = (this.worker ??= this.start());
    return new Promise((resolve) => {
      const end = (reply: Result<LaidOut>): void => {
        this.running = undefined;
        resolve(reply);
      };
      this.running = { boxes: visible.boxes.length, stop: () => end(STOPPED) };
      worker.onmessage = ({ data }: MessageEvent<Answer>) => {
        if (data.kind === "part") return onPart(data.part);
        if (data.warning) console.warn("gradgraph: layout failed, boxes are stacked instead.", data.warning);
        end(success(addRows(visible, unpackLaid(data))));
      };
      worker.postMessage(requestOf(visible, sizes, tallest));
    });
  }

  // The running layout is no longer needed. Ending the worker is the only way to stop it.
  cancel(): void {
    if (this.running === undefined) return;
    this.endWorker();
    this.running.stop();
  }

  private start(): Worker {
    // This must be a literal, because otherwise the bundler does not make a file for the worker.
    return this.workerUrl !== undefined
      ? new Worker(this.workerUrl)
      : new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
  }

  close(): void {
    this.closed = true;
    this.endWorker();
    this.running?.stop();
  }

  private endWorker(): void {
    this.worker?.terminate();
    this.worker = undefined;
  }
}
