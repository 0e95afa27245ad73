// The visible part of the heat map as a picture: names, cells, the line above them and the steps below.

import { DETAIL_FONT, fitText, TITLE_FONT } from "../../draw/style/text";
import type { Theme } from "../../draw/style/theme";
import type { FlowRow } from "../../model/flow/flow_rows";
import { rowsInSight, toPx } from "../../model/flow/flow_window";
import type { Store } from "../../state/store";
import type { Painted } from "../picture/picture";
import type { Drawing } from "../session/drawing";
import type { Flowing } from "./data/flow_data";
import { pinnedAxis } from "./data/flow_sight";
import { flatTitle, rowTitle } from "./data/flow_words";
import { CellBand, paintOver } from "./flow_paint";

const NAMES_PX = 250;
const INDENT_PX = 13;

export function flowPicture(store: Store, drawing: Drawing, flowing: Flowing): Painted {
  const { width, height } = flowing.size.peek();
  const theme = drawing.theme.peek();
  return {
    size: { width: width + NAMES_PX, height },
    paint(context, pixelRatio) {
      context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
      context.fillStyle = theme.background;
      context.fillRect(0, 0, width + NAMES_PX, height);
      paintNames(context, flowing, theme);
      context.setTransform(pixelRatio, 0, 0, pixelRatio, NAMES_PX * pixelRatio, 0);
      paintMap(context, store, flowing, theme);
    },
  };
}

function paintMap(context: CanvasRenderingContext2D, store: Store, flowing: Flowing, theme: Theme): void {
  const sight = flowing.sight.peek();
  const { columns, rows, map, pinned } = sight;
  const palette = flowing.palette.peek();
  const bands = [
    { cells: flowing.cells.peek(), rows, rect: map },
    { cells: flowing.pinnedCells.peek(), rows: pinnedAxis(sight), rect: pinned },
  ];
  for (const { cells, rows: high, rect } of bands) {
    if (rect.width === 0 || rect.height === 0) continue;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * Math.round(rect.width), 2 * Math.round(rect.height)];
    const inner = canvas.getContext("2d");
    if (inner === null) continue;
    new CellBand().put(inner, { cells, columns, rows: high, rect: { ...rect, y: 0 }, ratio: 2, palette });
    context.drawImage(canvas, rect.x, rect.y, rect.width, rect.height);
  }
  paintOver(context, store, flowing, theme, { pointed: undefined, brush: undefined });
}

function paintNames(context: CanvasRenderingContext2D, flowing: Flowing, theme: Theme): void {
  const { rows: axis, map, headers, pinned, coveredPx } = flowing.sight.peek();
  const rows = flowing.rows.peek();
  context.textBaseline = "middle";
  context.textAlign = "left";
  flowing.pinned
    .peek()
    .forEach((row, i) => paintName(context, flowing, row, pinned.y + pinnedAxis(flowing.sight.peek()).unitPx * (i + 0.5), theme));
  for (const { row, topPx } of headers) paintName(context, flowing, rows[row]!, map.y + topPx + axis.unitPx / 2, theme);
  for (const index of rowsInSight(axis)) {
    const middle = toPx(axis, index + 0.5);
    if (middle > coveredPx && middle < map.height) paintName(context, flowing, rows[index]!, map.y + middle, theme);
  }
  const scalar = flowing.scalar.line.peek();
  if (scalar === undefined) return;
  context.font = DETAIL_FONT;
  context.fillStyle = theme.accent;
  context.fillText(fitText(scalar.series.tag, DETAIL_FONT, NAMES_PX - 24), 12, map.y / 3);
}

function paintName(context: CanvasRenderingContext2D, flowing: Flowing, row: FlowRow, y: number, theme: Theme): void {
  const flow = flowing.flow.peek();
  if (flow === undefined) return;
  const { title, subtitle } = rowTitle(flow.hierarchy, row);
  const named = subtitle === "" ? title : `${title} ${subtitle}`;
  const x = 12 + INDENT_PX * row.depth;
  context.font = row.kind === "group" ? TITLE_FONT : DETAIL_FONT;
  context.fillStyle = colorOf(flow.hierarchy.graph.columns.nodes.kind[row.node], theme);
  context.fillText(fitText(row.isFlat ? flatTitle(flow.hierarchy, row) : named, context.font, NAMES_PX - x - 8), x, y);
}

function colorOf(kind: string | undefined, theme: Theme): string {
  if (kind === "parameter" || kind === "leaf") return theme.leaf;
  return kind === "root" ? theme.root : theme.ink;
}
