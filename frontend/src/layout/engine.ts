// Lays out the visible graph in a worker, and remembers what was laid out.

import type { Size } from "../base/geometry";
import { failure, success, type Result } from "../base/result";
import type { VisibleGraph } from "../model/visible/collapse";
import { unpackLaid, type Answer, type LaidOut } from "./laid_out";
import { requestOf } from "./request";

const REMEMBERED = 40;
// A layout of this many boxes takes longer than starting a new worker.
const LONG_FROM = 500;
const STOPPED = failure("The layout was stopped.");

export class LayoutEngine {
  private worker: Worker | undefined;
  private running: { readonly boxes: number; readonly stop: () => void } | undefined;
  private last: Promise<unknown> = Promise.resolve();
  private wanted = "";
  private readonly known = new Map<string, Promise<Result<LaidOut>>>();

  // `workerUrl`: of the same worker, where the file beside this one cannot be loaded; in a page of a file, a worker of modules cannot.
  constructor(private readonly workerUrl?: string) {
    this.worker = this.start(); // it takes half a second to load, while the graph is fetched
  }

  // `key` names the visible graph: equal keys give the same layout, without a new run. A long run
  // gives way to the next one. `onPart`: how much of it is done, 0..1.
  layOut(
    key: string,
    visible: VisibleGraph,
    sizes: () => readonly Size[],
    onPart: (part: number) => void = () => {},
  ): Promise<Result<LaidOut>> {
    this.wanted = key;
    const known = this.known.get(key);
    if (known !== undefined) return known;
    if ((this.running?.boxes ?? 0) > LONG_FROM) this.cancel();
    const run = this.last
      .then(() => (this.wanted === key ? this.run(visible, sizes(), onPart) : STOPPED))
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

  private run(visible: VisibleGraph, sizes: readonly Size[], onPart: (part: number) => void): Result<LaidOut> | Promise<Result<LaidOut>> {
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
        end(success(unpackLaid(data)));
      };
      worker.postMessage(requestOf(visible, sizes));
    });
  }

  // The running layout is no longer wanted. Ending the worker is the only way to interrupt it.
  cancel(): void {
    if (this.running === undefined) return;
    this.close();
    this.running.stop();
  }

  private start(): Worker {
    // Written literally, because only then does the bundler give the worker its own file.
    return this.workerUrl !== undefined
      ? new Worker(this.workerUrl)
      : new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
  }

  close(): void {
    this.worker?.terminate();
    this.worker = undefined;
  }
}
