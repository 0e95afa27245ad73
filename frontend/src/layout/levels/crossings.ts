// Counts where orthogonal lines cross.

import type { Point } from "../../base/geometry";

interface Piece {
  readonly owner: string;
  readonly at: number; // y of a level piece, x of an upright one
  readonly from: number;
  readonly to: number;
}

const NEAR = 1;

// Lines of one owner do not cross each other; where several of them run together, they cross others once.
export function countCrossings(paths: readonly (readonly Point[])[], owners: readonly string[]): number {
  const [level, upright]: [Piece[], Piece[]] = [[], []];
  paths.forEach((path, i) => {
    path.slice(1).forEach((b, at) => {
      const a = path[at]!;
      const owner = owners[i]!;
      if (Math.abs(a.y - b.y) < NEAR) level.push({ owner, at: a.y, from: Math.min(a.x, b.x), to: Math.max(a.x, b.x) });
      else if (Math.abs(a.x - b.x) < NEAR) upright.push({ owner, at: a.x, from: Math.min(a.y, b.y), to: Math.max(a.y, b.y) });
    });
  });
  const isInside = ({ from, to }: Piece, at: number): boolean => from + NEAR < at && at < to - NEAR;
  const places = new Set<string>();
  for (const one of level) {
    for (const other of upright) {
      if (one.owner !== other.owner && isInside(one, other.at) && isInside(other, one.at))
        places.add(`${Math.round(other.at)} ${Math.round(one.at)}`);
    }
  }
  return places.size;
}
