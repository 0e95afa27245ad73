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
  let told = performance.now();
  const [laid, warning] = layOut(data, (part) => {
    if (performance.now() - told < TELL_MS) return;
    told = performance.now();
    post({ kind: "part", part });
  });
  const packed = packLaid({ ...laid, labels: placeLabels(laid, data) });
  post({ kind: "laid", ...packed, warning }, [packed.rects.buffer, packed.starts.buffer, packed.points.buffer, packed.labels.buffer]);
};

// A picture that would be this many times as wide as high gets the shape that can be seen from far away.
const WIDE = 12;
const ASPECT = 3;
// The part of a picture that closed boxes take.
const FILLED = 0.12;
// A picture that would leave most of the width empty is lower than the page.
const FILLED_OF_FEW = 0.2;
const ASPECT_OF_FEW = 2;
const LOWEST = 400;

function shaped(request: LayoutRequest): LayoutRequest {
  const { tallest, open, width, height } = request;
  if (tallest === 0) return request;
  const closed = open.reduce((sum, isOpen, box) => sum + (isOpen === 1 ? 0 : width[box]! * height[box]!), 0);
  if (closed / FILLED > WIDE * tallest ** 2) return { ...request, tallest: Math.sqrt(closed / FILLED / ASPECT) };
  return { ...request, tallest: Math.min(tallest, Math.max(LOWEST, Math.sqrt(closed / FILLED_OF_FEW / ASPECT_OF_FEW))) };
}

function layOut(request: LayoutRequest, onPart: (part: number) => void): readonly [Laid, string] {
  try {
    if (request.parent.length <= TOGETHER && request.tallest === 0) return [fromElk(runElk(toElk(request)), request), ""];
    return [layOutLevels(shaped(request), onPart), ""];
  } catch (error) {
    // ELK fails on some graphs. A plain stack of boxes is still readable.
    return [stackBoxes(request), String(error)];
  }
}

// The first layout takes several times as long as the next, because the browser has not compiled
// ELK's code yet. A small one is made while the graph is fetched: two columns, one of them a group, both
// with a line that passes a box, because ELK is not needed for a row of boxes.
const SMALL: LayoutRequest = {
  parent: Int32Array.of(-1, 0, 0, 0, -1, -1),
  open: Uint8Array.of(1, 0, 0, 0, 0, 0),
  depth: Int32Array.of(0, 1, 1, 1, 0, 0),
  width: Float64Array.of(100, 90, 90, 90, 90, 90),
  height: Float64Array.of(20, 40, 40, 40, 40, 40),
  source: Int32Array.of(1, 1, 2, 3, 3, 4),
  target: Int32Array.of(2, 3, 3, 4, 5, 5),
  marked: new Uint8Array(6),
  tallest: 400,
};
layOut(SMALL, () => {});
