// Shows a whole array as a picture: the planes of its last two dimensions are tiled, with one cell for each element.

export interface Picture {
  readonly columns: number;
  readonly rows: number;
  // Element in each cell, row-major; -1 between planes.
  readonly cells: Int32Array;
}

const LONGEST_ROW = 64;
const WIDEST = 4;

export function pictureOf(shape: readonly number[], length: number): Picture {
  const [height, width] = planeOf(shape, length);
  const planes = Math.max(1, Math.round(length / Math.max(1, height * width)));
  const gap = planes > 1 ? 1 : 0;
  const across = planesAcross(shape, planes, (width + gap) / (height + gap));
  const down = Math.ceil(planes / across);
  const columns = across * (width + gap) - gap;
  const rows = down * (height + gap) - gap;
  const cells = new Int32Array(columns * rows).fill(-1);
  for (let element = 0; element < length; element++) {
    const plane = Math.floor(element / (height * width));
    const inside = element % (height * width);
    const x = (plane % across) * (width + gap) + (inside % width);
    const y = Math.floor(plane / across) * (height + gap) + Math.floor(inside / width);
    cells[y * columns + x] = element;
  }
  return { columns, rows, cells };
}

// The weight of a convolution has output channels downward and input channels across, unless that
// is a narrow strip. Otherwise the picture is about as wide as high.
function planesAcross(shape: readonly number[], planes: number, aspect: number): number {
  const own = shape.length >= 4 ? shape[shape.length - 3]! : 0;
  const strip = Math.abs(Math.log((own * own * aspect) / planes));
  if (own > 0 && strip <= Math.log(WIDEST)) return own;
  return Math.min(planes, Math.max(1, Math.round(Math.sqrt(planes / aspect))));
}

// A long vector is wrapped. Its rows have no meaning, but it stays readable.
function planeOf(shape: readonly number[], length: number): readonly [number, number] {
  if (shape.length >= 2) return [shape[shape.length - 2]!, shape[shape.length - 1]!];
  if (length <= LONGEST_ROW) return [1, length];
  const width = Math.ceil(Math.sqrt(length));
  return [Math.ceil(length / width), width];
}

// "[2, 0, 1]" of a row-major index.
export function indexText(shape: readonly number[], element: number): string {
  const index: number[] = [];
  let rest = element;
  for (let at = shape.length - 1; at >= 0; at--) {
    index.unshift(rest % shape[at]!);
    rest = Math.floor(rest / shape[at]!);
  }
  return `[${index.join(", ")}]`;
}

// The greatest finite magnitude, which is the end of the scale on both sides of zero.
export function reachOf(numbers: readonly number[]): number {
  let reach = 0;
  for (const number of numbers) if (Number.isFinite(number)) reach = Math.max(reach, Math.abs(number));
  return reach;
}
