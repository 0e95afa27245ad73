// A whole array of many elements as a small picture, with the number under the pointer.

import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import type { Size } from "../../../base/geometry";
import { formatNumber, formatShape, plainNumber } from "../../../base/format";
import { elementColor } from "../../../draw/style/element_colors";
import type { Theme } from "../../../draw/style/theme";
import { indexText, pictureOf, reachOf, type Picture } from "../../../model/charts/array_picture";

const WIDTH_PX = 300;
const HEIGHT_PX = 360;
const CELL_PX = 14;
const LEAST_PX = 72;

export function HeatMap({ title, id, numbers, shape, theme }: {
  readonly title: string;
  readonly id: string;
  readonly numbers: readonly number[];
  readonly shape: readonly number[];
  readonly theme: Theme;
}): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [pointed, setPointed] = useState(-1);
  const picture = pictureOf(shape, numbers.length);
  const reach = reachOf(numbers);
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context) fill(context, picture, numbers, reach, theme);
  }, [numbers, theme]);
  const { width, height } = cellSize(picture);
  const bad = numbers.filter((number) => !Number.isFinite(number)).length;
  const value = numbers[pointed];
  return (
    <figure class="heat" data-testid={id} data-elements={numbers.length} data-columns={picture.columns} data-rows={picture.rows} data-reach={plainNumber(reach)} data-nonfinite={bad}>
      <figcaption>{title} <span class="faint">{formatShape(shape)}</span></figcaption>
      <canvas ref={canvas} width={picture.columns} height={picture.rows} role="img" aria-label={`${title}, ${numbers.length} elements up to ${formatNumber(reach)} in magnitude`}
        style={{ width: `${picture.columns * width}px`, height: `${picture.rows * height}px`, imageRendering: width >= 1 && height >= 1 ? "pixelated" : "auto" }}
        onPointerMove={(event) => setPointed(elementAt(picture, event.offsetX / width, event.offsetY / height))}
        onPointerLeave={() => setPointed(-1)} />
      <div class="heat-scale">
        <span>{formatNumber(-reach)}</span>
        <i style={{ background: `linear-gradient(to right, ${theme.elements.join(", ")})` }} />
        <span>{formatNumber(reach)}</span>
        {bad > 0 && <span class="bad">{bad} NaN / inf</span>}
      </div>
      <p class="faint" data-testid={`${id}-pointed`}>
        {value === undefined ? "Point at an element for its number." : <>{indexText(shape, pointed)} = <b class={Number.isFinite(value) ? "" : "bad"}>{formatNumber(value)}</b></>}
      </p>
    </figure>
  );
}

// Square cells of whole pixels, as far as there is room; a long, flat array is stretched to be seen.
function cellSize({ columns, rows }: Picture): Size {
  const whole = (size: number): number => (size >= 1 ? Math.floor(size) : size);
  const square = Math.min(CELL_PX, WIDTH_PX / columns, HEIGHT_PX / rows);
  return {
    width: whole(Math.max(square, Math.min(CELL_PX, LEAST_PX / columns))),
    height: whole(Math.max(square, Math.min(CELL_PX, LEAST_PX / rows))),
  };
}

function elementAt({ columns, rows, cells }: Picture, x: number, y: number): number {
  const [column, row] = [Math.floor(x), Math.floor(y)];
  return column < 0 || row < 0 || column >= columns || row >= rows ? -1 : cells[row * columns + column]!;
}

function fill(context: CanvasRenderingContext2D, { columns, rows, cells }: Picture, numbers: readonly number[], reach: number, theme: Theme): void {
  const image = context.createImageData(columns, rows);
  cells.forEach((element, cell) => {
    if (element === -1) return; // between planes the card shows through
    image.data.set(elementColor(numbers[element]!, reach, theme), cell * 4);
    image.data[cell * 4 + 3] = 255;
  });
  context.putImageData(image, 0, 0);
}
