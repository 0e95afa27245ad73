// Paints the parts of the heat map, on the screen and in a saved picture: cells, headers, the line, the steps, the cursor.

import type { Rect } from "../../base/geometry";
import type { Palette } from "../../draw/flow/flow_codes";
import { paintCells, type Cells } from "../../draw/flow/paint_cells";
import { paintOverlay, type Overlay } from "../../draw/flow/paint_cursor";
import { paintScalar } from "../../draw/flow/paint_scalar";
import type { Theme } from "../../draw/style/theme";
import type { Axis } from "../../model/flow/flow_window";
import type { Store } from "../../state/store";
import type { Flowing } from "./data/flow_data";
import { rowTopPx } from "./data/flow_sight";

export interface Painting {
  readonly cells: Cells | undefined;
  readonly columns: Axis;
  readonly rows: Axis;
  readonly rect: Rect;
  readonly ratio: number; // of pixels to CSS pixels
  readonly palette: Palette;
}

// Cells are computed again only when they moved or changed. A moving cursor costs only a copy.
export class CellBand {
  private image: ImageData | undefined;
  private painted: readonly unknown[] = [];

  put(context: CanvasRenderingContext2D, { cells, columns, rows, rect, ratio, palette }: Painting): void {
    const [width, height] = [Math.round(rect.width * ratio), Math.round(rect.height * ratio)];
    if (cells === undefined || width === 0 || height === 0) return;
    const now = [cells, columns.from, columns.unitPx, rows.from, rows.unitPx, palette];
    const sameSize = this.image?.width === width && this.image.height === height;
    const image = sameSize ? this.image! : context.createImageData(width, height);
    this.image = image;
    if (!sameSize || now.some((one, i) => one !== this.painted[i])) paintCells(image, cells, columns, rows, ratio, palette);
    this.painted = now;
    context.putImageData(image, 0, Math.round(rect.y * ratio));
  }
}

export type Hand = Pick<Overlay, "pointed" | "brush">;

export function paintOver(context: CanvasRenderingContext2D, store: Store, flowing: Flowing, theme: Theme, hand: Hand): void {
  const sight = flowing.sight.peek();
  const { columns, rows, map, line, strip, pinned } = sight;
  const scalar = flowing.scalar.line.peek();
  paintHeaders(context, flowing, theme);
  if (line !== undefined && scalar !== undefined) paintScalar(context, scalar, columns, line, theme);
  const top = line?.y ?? strip.y;
  paintOverlay(
    context,
    {
      columns,
      rows,
      map,
      coveredPx: sight.coveredPx,
      top: strip.y + strip.height,
      whole: { x: 0, y: top, width: map.width, height: map.y + map.height - top },
      steps: flowing.flow.peek()?.steps ?? [],
      bad: store.recorded.badSteps.peek().keys(),
      step: flowing.cursor.position.peek(),
      shown: store.place.ref.peek()?.step ?? 0,
      row: rowTopPx(sight, flowing.cursor.row.peek()),
      selection: flowing.selection.peek(),
      ...hand,
    },
    theme,
  );
  if (pinned.height === 0) return;
  context.fillStyle = theme.inkSoft;
  context.fillRect(0, pinned.y + pinned.height + 1, map.width, 1);
}

// Headers of open groups have no cells. They hide those that are scrolled below them.
function paintHeaders(context: CanvasRenderingContext2D, flowing: Flowing, theme: Theme): void {
  const { map, coveredPx } = flowing.sight.peek();
  if (coveredPx === 0) return;
  context.fillStyle = theme.background;
  context.fillRect(0, map.y, map.width, coveredPx);
  context.fillStyle = theme.noneLine;
  context.fillRect(0, map.y + coveredPx - 1, map.width, 1);
}
