// Workers that outlive their panel: the code of the layout, 1.5 MB, is loaded once and not for every test.
// An idle worker that is ended waits for the next one that is started from the same file; a busy one ends.

const Started = window.Worker;
const idle: KeptWorker[] = [];

class KeptWorker extends Started {
  private unanswered = 0;

  constructor(
    private readonly from: string,
    options?: WorkerOptions,
  ) {
    super(from, options);
    this.addEventListener("message", ({ data }: MessageEvent<{ readonly kind: string }>) => {
      if (data.kind === "laid") this.unanswered -= 1;
    });
    this.addEventListener("error", () => (this.unanswered = Infinity));
  }

  static start(from: string | URL, options?: WorkerOptions): Worker {
    const place = idle.findIndex((worker) => worker.from === String(from));
    return idle.splice(place, Number(place >= 0))[0] ?? new KeptWorker(String(from), options);
  }

  override postMessage(message: unknown): void {
    this.unanswered += 1;
    super.postMessage(message);
  }

  override terminate(): void {
    this.onmessage = null;
    if (this.unanswered === 0) idle.push(this);
    else super.terminate();
  }
}

window.Worker = new Proxy(Started, { construct: (_, [from, options]) => KeptWorker.start(from as string | URL, options as WorkerOptions) });
