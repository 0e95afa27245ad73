// The worker's message loop. It gets a request, and sends its progress and then the answer, or an error.

import { placeLabels } from "./edge_labels";
import { runElk } from "./levels/elk";
import { fromElk, toElk } from "./levels/elk_graph";
import { packLaid, type Answer, type Laid } from "./places/laid_out";
import { layOutLevels } from "./levels/levels";
import type { LayoutRequest } from "./places/request";
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

// A picture that would be this many times as wide as high gets the shape that can be seen from far away.
const WIDE = 12;
const ASPECT = 3;
// The part of a picture that closed boxes take.
const FILLED = 0.12;

function shaped(request: LayoutRequest): LayoutRequest {
  const { tallest, open, width, height } = request;
  if (tallest === 0) return request;
  const area = open.reduce((sum, isOpen, box) => sum + (isOpen === 1 ? 0 : width[box]! * height[box]!), 0) / FILLED;
  return area < WIDE * tallest ** 2 ? request : { ...request, tallest: Math.sqrt(area / ASPECT) };
}

function layOut(request: LayoutRequest): readonly [Laid, string] {
  let told = performance.now();
  try {
    if (request.parent.length <= TOGETHER && request.tallest === 0) return [fromElk(runElk(toElk(request)), request), ""];
    return [
      layOutLevels(shaped(request), (part) => {
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
