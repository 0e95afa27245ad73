// The visible part of the heat map as a picture: names, cells, the line above them and the steps below.

import { paintCells } from "../../draw/flow/paint_cells";
import { DETAIL_FONT, fitText, TITLE_FONT } from "../../draw/style/text";
import type { Theme } from "../../draw/style/theme";
import { LABEL_PX, namePx, rowsWithNames } from "../../model/flow/flow_window";
import type { Store } from "../../state/store";
import type { Painted } from "../picture/picture";
import type { Drawing } from "../session/drawing";
import type { Flowing } from "./flow_data";
import { paintOver } from "./flow_paint";
import { rankOf } from "./flow_tree";
import { rowTitle } from "./flow_words";

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
  const { columns, rows, map } = flowing.sight.peek();
  const cells = flowing.cells.peek();
  if (cells !== undefined && map.width > 0 && map.height > 0) {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * Math.round(map.width), 2 * Math.round(map.height)];
    const inner = canvas.getContext("2d");
    const image = inner?.createImageData(canvas.width, canvas.height);
    if (image !== undefined) {
      paintCells(image, cells, columns, rows, 2, flowing.palette.peek());
      inner?.putImageData(image, 0, 0);
      context.drawImage(canvas, map.x, map.y, map.width, map.height);
    }
  }
  paintOver(context, store, flowing, theme, { pointed: undefined, brush: undefined });
}

function paintNames(context: CanvasRenderingContext2D, flowing: Flowing, theme: Theme): void {
  const flow = flowing.flow.peek();
  const [rows, { rows: axis, map }] = [flowing.rows.peek(), flowing.sight.peek()];
  if (flow === undefined) return;
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (const index of rowsWithNames(rows.map(rankOf), axis, flowing.cursor.row.peek())) {
    const row = rows[index]!;
    const { title, subtitle } = rowTitle(flow.hierarchy, row);
    const x = 12 + INDENT_PX * row.depth;
    context.font = row.kind === "group" ? TITLE_FONT : DETAIL_FONT;
    context.fillStyle = colorOf(flow.hierarchy.graph.columns.nodes.kind[row.node], theme);
    const text = subtitle === "" ? title : `${title} ${subtitle}`;
    context.fillText(fitText(text, context.font, NAMES_PX - x - 8), x, map.y + Math.max(LABEL_PX / 2, namePx(axis, index, map.height)));
  }
  const scalar = flowing.scalar.line.peek();
  if (scalar === undefined) return;
  context.font = DETAIL_FONT;
  context.fillStyle = theme.accent;
  context.fillText(fitText(scalar.series.tag, DETAIL_FONT, NAMES_PX - 24), 12, map.y / 2);
}

function colorOf(kind: string | undefined, theme: Theme): string {
  if (kind === "parameter" || kind === "leaf") return theme.leaf;
  return kind === "root" ? theme.root : theme.ink;
}
