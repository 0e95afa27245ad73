// The worker's message loop. It gets a request, and sends its progress and then the answer, or an error.

import { placeLabels } from "./edge_labels";
import { runElk } from "./elk";
import { fromElk, toElk } from "./elk_graph";
import { packLaid, type Answer, type Laid } from "./laid_out";
import { layOutLevels } from "./levels";
import type { LayoutRequest } from "./request";
import { stackBoxes } from "./stack";

// Up to this many boxes, all levels are laid out together. This looks better but takes longer.
const TOGETHER = 500;
const TELL_MS = 100;

const post = (answer: Answer, transfer: Transferable[] = []): void => postMessage(answer, { transfer });

onmessage = ({ data }: MessageEvent<LayoutRequest>) => {
  const [laid, warning] = layOut(data);
  const packed = packLaid({ ...laid, labels: placeLabels(laid, data) });
  post({ kind: "laid", ...packed, warning }, [packed.rects.buffer, packed.starts.buffer, packed.points.buffer, packed.labels.buffer]);
};

function layOut(request: LayoutRequest): readonly [Laid, string] {
  let told = performance.now();
  try {
    if (request.parent.length <= TOGETHER) return [fromElk(runElk(toElk(request)), request), ""];
    return [
      layOutLevels(request, (part) => {
        if (performance.now() - told < TELL_MS) return;
        told = performance.now();
        post({ kind: "part", part });
      }),
      "",
    ];
  } catch (error) {
    // ELK fails on some graphs. A plain stack of boxes is still readable.
    return [stackBoxes(request), String(error)];
  }
}
