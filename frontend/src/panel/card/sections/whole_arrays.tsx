// Value and gradient of a tensor that is kept whole: as numbers if they are few, or else as a picture.

import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import type { Client } from "../../../api/client";
import { recordIn, type NodeSeries } from "../../../api/parse";
import { followLatest } from "../../../base/follow_latest";
import { formatNumber, formatShape, plainNumber } from "../../../base/format";
import type { Size } from "../../../base/geometry";
import type { Result } from "../../../base/result";
import { WHOLE_LIMIT, type WhatKept } from "../../../base/vocabulary";
import { elementColor } from "../../../draw/style/element_colors";
import type { Theme } from "../../../draw/style/theme";
import { indexText, pictureOf, reachOf, type Picture } from "../../../model/charts/array_picture";
import type { Graph } from "../../../model/recorded/graph";
import type { RecordedStep } from "../../../model/recorded/record";
import type { Halves } from "./halves_of";

export function WholeArrays({
  client,
  halves,
  series,
  graph,
  row,
  word,
  seed,
  theme,
}: {
  readonly client: Client;
  readonly halves: Halves;
  readonly series: Readonly<Record<WhatKept, NodeSeries | undefined>>; // of this row; they may hold arrays that did not fit into the step
  readonly graph: Graph;
  readonly row: number;
  readonly word: string; // for its value
  readonly seed: boolean;
  readonly theme: Theme;
}): JSX.Element | null {
  const { shape, dtype } = graph.columns.slots;
  const sizes = shape[row] ?? [];
  const parts = dtype[row]?.startsWith("complex") ? [...sizes, 2] : sizes;
  const array = (what: WhatKept, title: string): JSX.Element | undefined => {
    // add_grad_graph keeps values beside the gradients.
    const places = ([what, "gradient"] as const).map((half) => ({ record: halves[half], of: series[half] }));
    const found = places.map(({ record, of }) => record && (record.whole.get(row)?.[what] ?? wholeIn(of, record, what)));
    const numbers = found.find((one) => one !== undefined);
    const { record } = places.find((one) => one.record?.leftOut[what].has(row)) ?? {};
    const drawn = { title, id: `whole-${what}`, shape: parts, theme };
    if (numbers !== undefined) return <ArrayOf {...drawn} numbers={numbers} />;
    return record ? <Fetched {...drawn} client={client} record={record} row={row} what={what} /> : undefined;
  };
  const [value, gradient] = [array("value", halves.value ? word : "value"), array("gradient", seed ? "seed gradient" : "gradient")];
  return value === undefined && gradient === undefined ? null : (
    <div class="wholes">
      {value}
      {gradient}
    </div>
  );
}

interface Drawn {
  readonly title: string;
  readonly id: string;
  readonly shape: readonly number[];
  readonly theme: Theme;
}

function ArrayOf({ title, id, shape, theme, numbers }: Drawn & { readonly numbers: readonly number[] }): JSX.Element {
  if (numbers.length <= 2 * WHOLE_LIMIT) return <Matrix title={title} id={id} numbers={numbers} shape={shape} />;
  return <HeatMap title={title} id={id} numbers={numbers} shape={shape} theme={theme} />;
}

function wholeIn(series: NodeSeries | undefined, record: RecordedStep, what: WhatKept): readonly number[] | undefined {
  return series?.whole.get(recordIn(series, record))?.[what];
}

// An array that is too large to be sent with its step is fetched when it is shown.
function Fetched({
  client,
  record,
  row,
  what,
  ...drawn
}: Drawn & { readonly client: Client; readonly record: RecordedStep; readonly row: number; readonly what: WhatKept }): JSX.Element {
  const [reply, setReply] = useState<Result<readonly number[]> | undefined>(undefined);
  useEffect(() => {
    setReply(undefined);
    return followLatest(
      () => [],
      () => client.tensor(record, row, what),
      setReply,
    );
  }, [record, row, what]);
  if (reply?.ok) return <ArrayOf {...drawn} numbers={reply.value} />;
  return (
    <p class="faint" data-testid={`${drawn.id}-fetched`}>
      {reply === undefined ? `${drawn.title}: loading…` : reply.error}
    </p>
  );
}

const WIDTH_PX = 300;
const HEIGHT_PX = 360;
const CELL_PX = 14;
const LEAST_PX = 72;

// With the number under the pointer.
function HeatMap({
  title,
  id,
  numbers,
  shape,
  theme,
}: {
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
    <figure
      class="heat"
      data-testid={id}
      data-elements={numbers.length}
      data-columns={picture.columns}
      data-rows={picture.rows}
      data-reach={plainNumber(reach)}
      data-nonfinite={bad}
    >
      <figcaption>
        {title} <span class="faint">{formatShape(shape)}</span>
      </figcaption>
      <canvas
        ref={canvas}
        width={picture.columns}
        height={picture.rows}
        role="img"
        aria-label={`${title}, ${numbers.length} elements up to ${formatNumber(reach)} in magnitude`}
        style={{
          width: `${picture.columns * width}px`,
          height: `${picture.rows * height}px`,
          imageRendering: width >= 1 && height >= 1 ? "pixelated" : "auto",
        }}
        onPointerMove={(event) => setPointed(elementAt(picture, event.offsetX / width, event.offsetY / height))}
        onPointerLeave={() => setPointed(-1)}
      />
      <div class="heat-scale">
        <span>{formatNumber(-reach)}</span>
        <i style={{ background: `linear-gradient(to right, ${theme.elements.join(", ")})` }} />
        <span>{formatNumber(reach)}</span>
        {bad > 0 && <span class="bad">{bad} NaN / inf</span>}
      </div>
      <p class="faint" data-testid={`${id}-pointed`}>
        {value === undefined ? (
          "Point at an element to see its number."
        ) : (
          <>
            {indexText(shape, pointed)} = <b class={Number.isFinite(value) ? "" : "bad"}>{formatNumber(value)}</b>
          </>
        )}
      </p>
    </figure>
  );
}

// Square cells of whole pixels, if they fit. A long, flat array is stretched to be visible.
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

function fill(
  context: CanvasRenderingContext2D,
  { columns, rows, cells }: Picture,
  numbers: readonly number[],
  reach: number,
  theme: Theme,
): void {
  const image = context.createImageData(columns, rows);
  cells.forEach((element, cell) => {
    if (element === -1) return; // between planes the card shows through
    image.data.set(elementColor(numbers[element]!, reach, theme), cell * 4);
    image.data[cell * 4 + 3] = 255;
  });
  context.putImageData(image, 0, 0);
}

const MOST = 256; // elements that are written out

// The last dimension across, the others down.
function Matrix({
  title,
  id,
  numbers,
  shape,
}: {
  readonly title: string;
  readonly id: string;
  readonly numbers: readonly number[];
  readonly shape: readonly number[];
}): JSX.Element {
  const across = Math.max(1, Math.min(8, shape.at(-1) ?? 1));
  const shown = numbers.slice(0, MOST);
  const rows = Array.from({ length: Math.ceil(shown.length / across) }, (_, i) => shown.slice(i * across, (i + 1) * across));
  return (
    <figure data-testid={id} data-whole={numbers.map(plainNumber).join(",")}>
      <figcaption>{title}</figcaption>
      <table class="matrix">
        <tbody>
          {rows.map((row, i) => (
            <tr key={i}>
              {row.map((value, j) => (
                <td key={j} class={Number.isFinite(value) ? "" : "bad"}>
                  {formatNumber(value)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {numbers.length > MOST && (
        <p class="faint">
          first {MOST} of {numbers.length}
        </p>
      )}
    </figure>
  );
}
