// Paints over the cells of the heat map, on the screen and in a saved picture: the line, the steps, the cursor.

import { paintOverlay, type Overlay } from "../../draw/flow/paint_cursor";
import { paintScalar } from "../../draw/flow/paint_scalar";
import type { Theme } from "../../draw/style/theme";
import type { Store } from "../../state/store";
import type { Flowing } from "./flow_data";

export function paintOver(
  context: CanvasRenderingContext2D,
  store: Store,
  flowing: Flowing,
  theme: Theme,
  hand: Pick<Overlay, "pointed" | "brush">,
): void {
  const { columns, rows, map, line } = flowing.sight.peek();
  const scalar = flowing.scalar.line.peek();
  if (line !== undefined && scalar !== undefined) paintScalar(context, scalar, columns, line, theme);
  const top = line?.y ?? map.y;
  paintOverlay(
    context,
    {
      columns,
      rows,
      map,
      whole: { x: 0, y: top, width: map.width, height: map.y + map.height - top },
      steps: flowing.flow.peek()?.steps ?? [],
      bad: store.recorded.badSteps.peek().keys(),
      step: flowing.cursor.position.peek(),
      shown: store.place.ref.peek()?.step ?? 0,
      row: flowing.cursor.row.peek(),
      ...hand,
    },
    theme,
  );
}
