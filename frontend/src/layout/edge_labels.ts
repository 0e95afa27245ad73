// Finds a free place for the label of each edge, once per layout.

import { boundsOf, intersects, type Point, type Rect } from "../base/geometry";
import { TITLE_HEIGHT, type Laid } from "./places/laid_out";
import type { LayoutRequest } from "./places/request";

export const LABEL_WIDTH = 60;
export const LABEL_HEIGHT = 16;
// Size of the mark of a chain that is folded into a line.
export const MARK_RADIUS = 7;

// First it tries the middle of the longest piece, because a label would hide a short piece
// completely. Then it tries other pieces and other places on them: first places without other
// edges, then places across them. If there is no free place, the edge has no label. A folded chain
// has its mark at this place, and the label to the right of the mark.
export function placeLabels(
  { boxes, edges }: Laid,
  { open, marked }: Pick<LayoutRequest, "open" | "marked">,
): readonly (Point | undefined)[] {
  const taken = new Cells();
  boxes.forEach((rect, box) => taken.add(open[box] === 1 ? { ...rect, height: TITLE_HEIGHT + 4 } : rect, -1));
  const lines = new Cells();
  edges.forEach((path, edge) => {
    for (let i = 1; i < path.length; i++) lines.add(boundsOf([path[i - 1]!, path[i]!]), edge);
  });
  return edges.map((path, edge) => {
    const isMarked = marked[edge] === 1;
    const rectAt = (place: Point): Rect => (isMarked ? besideMark(place) : labelRect(place));
    const places = isMarked ? clearOfEnds([...candidates(path)], path) : [...candidates(path)];
    const free = places.filter((place) => !taken.hits(rectAt(place), -2));
    const place = free.find((one) => !lines.hits(rectAt(one), edge)) ?? free[0];
    if (place !== undefined) taken.add(rectAt(place), -1);
    return place;
  });
}

export function labelRect({ x, y }: Point): Rect {
  return { x: x - LABEL_WIDTH / 2, y: y - LABEL_HEIGHT / 2, width: LABEL_WIDTH, height: LABEL_HEIGHT };
}

function besideMark({ x, y }: Point): Rect {
  return { x: x - MARK_RADIUS - 1, y: y - MARK_RADIUS - 1, width: 2 * MARK_RADIUS + LABEL_WIDTH + 4, height: 2 * MARK_RADIUS + 2 };
}

// A mark may hide an arrow head only if there is no other place.
function clearOfEnds(places: readonly Point[], path: readonly Point[]): readonly Point[] {
  const [start, end] = [path[0]!, path.at(-1)!];
  const clear = places.filter((one) => [start, end].every(({ x, y }) => Math.hypot(one.x - x, one.y - y) >= 2 * MARK_RADIUS + 2));
  return clear.length > 0 ? clear : places;
}

function* candidates(path: readonly Point[]): Generator<Point> {
  const pieces: { a: Point; b: Point; length: number; seen: number }[] = [];
  for (let i = 1; i < path.length; i++) {
    const a = path[i - 1]!;
    const b = path[i]!;
    const length = Math.hypot(b.x - a.x, b.y - a.y);
    const isAcross = Math.abs(b.x - a.x) > Math.abs(b.y - a.y);
    pieces.push({ a, b, length, seen: length - (isAcross ? LABEL_WIDTH : LABEL_HEIGHT) });
  }
  pieces.sort((p, q) => q.seen - p.seen);
  for (const { a, b, length } of pieces.slice(0, 4)) {
    if (length < LABEL_HEIGHT) continue;
    for (const t of [0.5, 0.32, 0.68, 0.2, 0.8]) yield { x: a.x + t * (b.x - a.x), y: a.y + t * (b.y - a.y) };
  }
}

interface Owned {
  readonly rect: Rect;
  readonly owner: number;
}

// A coarse grid of rectangles, so that placing takes linear time.
class Cells {
  private readonly cells = new Map<string, Owned[]>();

  add(rect: Rect, owner: number): void {
    for (const key of this.keys(rect)) {
      const cell = this.cells.get(key);
      if (cell === undefined) this.cells.set(key, [{ rect, owner }]);
      else cell.push({ rect, owner });
    }
  }

  // Whether there is anything at this place other than the edge's own parts.
  hits(rect: Rect, asker: number): boolean {
    for (const key of this.keys(rect)) {
      if (this.cells.get(key)?.some((other) => other.owner !== asker && intersects(rect, other.rect))) return true;
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
