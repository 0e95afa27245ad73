// Lays out thousands of boxes. Each open group is laid out separately, innermost first, and is then
// a box of fixed size in the group around it. An edge that crosses the border of a group goes
// through a port there, so its route has one piece for each level. Equal levels, such as the layers
// of a transformer, are laid out once.

import type { Point, Rect } from "../../base/geometry";
import type { Tall } from "./columns";
import type { End, Level, LevelLayout } from "./level_graph";
import { boundsAround, type Laid } from "../places/laid_out";
import { layOutLevel } from "./one_level";
import type { LayoutRequest } from "../places/request";

interface Piece {
  readonly level: number;
  readonly index: number; // among the level's pieces
}

class Levels {
  readonly levels = new Map<number, Level>();
  private readonly ports = new Map<string, number>();
  private readonly pieces = new Map<string, number>();
  private readonly depth: Int32Array;

  constructor(private readonly request: LayoutRequest) {
    const { parent, open } = request;
    this.depth = new Int32Array(parent.length);
    this.levels.set(-1, { children: [], ports: [], pieces: [] });
    parent.forEach((around, box) => {
      this.depth[box] = around === -1 ? 0 : this.depth[around]! + 1;
      this.levels.get(around)!.children.push(box);
      if (open[box] === 1) this.levels.set(box, { children: [], ports: [], pieces: [] });
    });
  }

  // The pieces of an edge in order; `lane` tells edges between the same boxes apart.
  route(source: number, target: number, lane: number): readonly Piece[] {
    const { parent } = this.request;
    const common = this.around(parent[source]!, parent[target]!);
    const inward: number[] = [];
    for (let at = parent[target]!; at !== common; at = parent[at]!) inward.unshift(at);
    const key = `${source} ${lane}`;
    const pieces: Piece[] = [];
    let from: End = { box: source, port: -1 };
    let level = parent[source]!;
    for (; level !== common; level = parent[level]!) {
      const port = this.port(level, false, key);
      pieces.push(this.piece(level, from, { box: -1, port }));
      from = { box: level, port };
    }
    for (const next of inward) {
      const port = this.port(next, true, key);
      pieces.push(this.piece(level, from, { box: next, port }));
      from = { box: -1, port };
      level = next;
    }
    pieces.push(this.piece(level, from, { box: target, port: -1 }));
    return pieces;
  }

  private around(one: number, other: number): number {
    const deep = (box: number): number => (box === -1 ? -1 : this.depth[box]!);
    while (one !== other) {
      if (deep(one) > deep(other)) one = this.request.parent[one]!;
      else other = this.request.parent[other]!;
    }
    return one;
  }

  private port(level: number, enters: boolean, key: string): number {
    const { ports } = this.levels.get(level)!;
    return remembered(this.ports, `${level} ${enters} ${key}`, () => ports.push(enters) - 1);
  }

  private piece(level: number, from: End, to: End): Piece {
    const { pieces } = this.levels.get(level)!;
    const add = (): number => pieces.push({ from, to }) - 1;
    // A tensor that enters a level is drawn as one line until it branches.
    if (from.port === -1 && to.port === -1) return { level, index: add() };
    return { level, index: remembered(this.pieces, [level, from.box, from.port, to.box, to.port].join(), add) };
  }
}

function remembered(known: Map<string, number>, key: string, make: () => number): number {
  const value = known.get(key) ?? make();
  known.set(key, value);
  return value;
}

// `onPart` gets the progress, 0..1.
export function layOutLevels(request: LayoutRequest, onPart: (part: number) => void): Laid {
  const { parent, source, target } = request;
  const levels = new Levels(request);
  const lanes = new Map<string, number>();
  const routes = Array.from(source, (from, edge) => {
    const key = `${from} ${target[edge]}`;
    const lane = lanes.get(key) ?? 0;
    lanes.set(key, lane + 1);
    return levels.route(from, target[edge]!, lane);
  });
  const laid = new Map<number, LevelLayout>();
  const known = new Map<string, Tall>();
  const inmostFirst = [...levels.levels.keys()].sort((a, b) => b - a);
  inmostFirst.forEach((level, at) => {
    laid.set(level, layOutLevel(request, level, levels.levels.get(level)!, laid, known));
    onPart((at + 1) / inmostFirst.length);
  });
  const boxes: Rect[] = [];
  const offset = (level: number): Point => (level === -1 ? { x: 0, y: 0 } : boxes[level]!);
  parent.forEach((around, box) => {
    const { x, y } = offset(around);
    const rect = laid.get(around)!.rects.get(box)!;
    boxes.push({ ...rect, x: x + rect.x, y: y + rect.y });
  });
  const edges = routes.map((pieces) =>
    straighten(
      pieces.flatMap(({ level, index }) => {
        const { x, y } = offset(level);
        return laid.get(level)!.paths[index]!.map((point) => ({ x: x + point.x, y: y + point.y }));
      }),
    ),
  );
  return { boxes, edges, bounds: boundsAround(boxes, edges) };
}

// Without the points that lie on a straight line between their neighbors.
function straighten(path: readonly Point[]): readonly Point[] {
  const kept: Point[] = [];
  path.forEach((point, i) => {
    const before = kept.at(-1);
    const next = path[i + 1];
    if (before !== undefined && next !== undefined && isBetween(before, point, next)) return;
    kept.push(point);
  });
  return kept;
}

function isBetween(a: Point, b: Point, c: Point): boolean {
  const [dx, dy, ex, ey] = [b.x - a.x, b.y - a.y, c.x - b.x, c.y - b.y];
  return Math.abs(dx * ey - dy * ex) < 0.01 && dx * ex + dy * ey >= 0;
}
