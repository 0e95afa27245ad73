// Divides the boxes of a level, in forward order, among columns of about equal height.

const GAP = 40; // between a box and the next one below it
const ENDS = 44; // above the first and below the last box of a column
const TRIES = 16;

// A level as a graph. Boxes are numbered in forward order, so that no edge leads backward.
export interface Stacked {
  readonly heights: readonly number[];
  readonly edges: readonly (readonly [number, number])[];
}

// What a level is at least as high as, however it is laid out in one column. `gap`: between two layers.
export function leastHeight(stacked: Stacked, gap: number): number {
  const into = intoOf(stacked);
  const bottoms: number[] = [];
  stacked.heights.forEach((height, box) =>
    bottoms.push(into[box]!.reduce((most, from) => Math.max(most, bottoms[from]! + gap), 0) + height),
  );
  return Math.max(0, ...bottoms);
}

// The column of each box. There are as few columns as the page allows, or at most `most`.
export function partition(stacked: Stacked, tallest: number, most: number): readonly number[] {
  const into = intoOf(stacked);
  const least = Math.max(...stacked.heights) + ENDS;
  let high = Math.max(tallest, least);
  while (countOf(fill(stacked, into, high)) > most) high *= 1.25;
  let best = fill(stacked, into, high);
  const count = countOf(best);
  let low = least;
  for (let left = TRIES; left > 0 && high - low > 1; left--) {
    const middle = (low + high) / 2;
    const columns = fill(stacked, into, middle);
    if (countOf(columns) > count) low = middle;
    else [high, best] = [middle, columns];
  }
  return best;
}

function countOf(columns: readonly number[]): number {
  return (columns.at(-1) ?? -1) + 1;
}

function intoOf({ heights, edges }: Stacked): readonly (readonly number[])[] {
  const into: number[][] = heights.map(() => []);
  for (const [from, to] of edges) if (from < to) into[to]!.push(from);
  return into;
}

// Fills one column after the other. The height of a column is that of its longest path.
function fill({ heights }: Stacked, into: readonly (readonly number[])[], tallest: number): readonly number[] {
  const columns: number[] = [];
  const bottoms: number[] = [];
  let column = 0;
  heights.forEach((height, box) => {
    const below = (first: number): number =>
      into[box]!.reduce((most, from) => (columns[from] === first ? Math.max(most, bottoms[from]! + GAP) : most), ENDS / 2);
    const bottom = below(column) + height;
    if (bottom + ENDS / 2 > tallest && columns.at(-1) === column) column++;
    columns.push(column);
    bottoms.push(below(column) + height);
  });
  return columns;
}
