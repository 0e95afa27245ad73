// Determines the text at each zoom. Near: both lines of a box. Farther away: as much as fits at a
// readable size. Far away: the titles of open groups.

import { intersects, type Rect } from "../../base/geometry";
import type { SceneBox } from "../scene/scene";
import { FONT, TITLE_FONT, TITLE_SIZE, widthOf } from "../style/text";
import type { Theme } from "../style/theme";

// From this zoom on, open groups have heads.
export const HEADS_FROM = 0.5;
// From this zoom on, boxes have text if it fits.
export const TEXT_FROM = 0.24;

const FAR_TITLE_PX = 11;

// Outermost groups first. A title that would overlap another one is left out.
export function paintFarTitles(context: CanvasRenderingContext2D, frames: readonly SceneBox[], theme: Theme, zoom: number): void {
  const size = FAR_TITLE_PX / zoom;
  const taken: Rect[] = [];
  context.font = `600 ${size}px ${FONT}`;
  for (const { title, rectWorld, depth } of frames) {
    const width = (widthOf(title, TITLE_FONT) / TITLE_SIZE) * size;
    const place = { x: rectWorld.x + 6 / zoom, y: rectWorld.y + 4 / zoom, width, height: size };
    if (width > rectWorld.width - 12 / zoom || 3 * size > rectWorld.height || taken.some((other) => intersects(other, place))) continue;
    taken.push(place);
    context.beginPath();
    context.roundRect(place.x - 2 / zoom, place.y - 2 / zoom, width + 4 / zoom, size + 4 / zoom, 3 / zoom);
    context.fillStyle = theme.groupFill[depth % 2]!;
    context.fill();
    context.fillStyle = theme.ink;
    context.fillText(title, place.x, place.y + size / 2);
  }
}
