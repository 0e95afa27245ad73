// Finds a free place for the label of each edge, once per layout.

import { intersects, type Point, type Rect } from "../base/geometry";
import type { LaidOut } from "../layout/laid_out";

export const LABEL_WIDTH = 44;
export const LABEL_HEIGHT = 14;

// The middle of the longest piece is tried first, then other pieces and other
// places on them; an edge with no free place has no label. Labels lie on their
// edge, so where several edges run together the label says which one is meant.
export function placeLabels(layout: LaidOut, obstacles: readonly Rect[]): readonly (Point | undefined)[] {
  const taken = new Cells();
  for (const obstacle of obstacles) taken.add(obstacle);
  return layout.edges.map((path) => {
    for (const place of candidates(path)) {
      const rect = labelRect(place);
      if (taken.hits(rect)) continue;
      taken.add(rect);
      return place;
    }
    return undefined;
  });
}

export function labelRect({ x, y }: Point): Rect {
  return { x: x - LABEL_WIDTH / 2, y: y - LABEL_HEIGHT / 2, width: LABEL_WIDTH, height: LABEL_HEIGHT };
}

function* candidates(path: readonly Point[]): Generator<Point> {
  const pieces: { a: Point; b: Point; length: number }[] = [];
  for (let i = 1; i < path.length; i++) {
    const a = path[i - 1]!;
    const b = path[i]!;
    pieces.push({ a, b, length: Math.hypot(b.x - a.x, b.y - a.y) });
  }
  pieces.sort((p, q) => q.length - p.length);
  for (const { a, b, length } of pieces.slice(0, 4)) {
    if (length < LABEL_HEIGHT) continue;
    for (const t of [0.5, 0.32, 0.68, 0.2, 0.8]) yield { x: a.x + t * (b.x - a.x), y: a.y + t * (b.y - a.y) };
  }
}

// A coarse grid of rectangles, so that placing stays linear.
class Cells {
  private readonly cells = new Map<string, Rect[]>();

  add(rect: Rect): void {
    for (const key of this.keys(rect)) {
      const cell = this.cells.get(key);
      if (cell === undefined) this.cells.set(key, [rect]);
      else cell.push(rect);
    }
  }

  hits(rect: Rect): boolean {
    for (const key of this.keys(rect)) {
      if (this.cells.get(key)?.some((other) => intersects(rect, other))) return true;
    }
    return false;
  }

  private *keys({ x, y, width, height }: Rect): Generator<string> {
    const size = 128;
    for (let i = Math.floor(x / size); i <= Math.floor((x + width) / size); i++) {
      for (let j = Math.floor(y / size); j <= Math.floor((y + height) / size); j++) yield `${i},${j}`;
    }
  }
}
