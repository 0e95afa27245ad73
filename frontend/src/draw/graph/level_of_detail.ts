// Determines the text at each zoom. Near: both lines of a box. Farther away: only its title,
// larger. Far away: the titles of open groups.

import { intersects, type Rect, type Size } from "../../base/geometry";
import { FONT, widthOf, TITLE_FONT } from "../style/text";
import type { Theme } from "../style/theme";
import type { SceneBox } from "./scene";

// From this zoom on, all text is drawn as it was laid out.
export const TITLES_FROM = 0.52;
// From this zoom on, only the titles of boxes are drawn.
const BOX_TITLES_FROM = 0.2;

// On the screen; smaller if the whole title needs it.
const TITLE_PX = 9;
const LEAST_TITLE_PX = 7;
const FAR_TITLE_PX = 11;
const MOST_OF_HEIGHT = 0.56;

export function isFullText(zoom: number): boolean {
  return zoom >= TITLES_FROM;
}

// Size, in world units, of a title without other text; undefined if it would be too small to read.
export function loneTitleSize(title: string, room: Size, zoom: number): number | undefined {
  if (zoom < BOX_TITLES_FROM) return undefined;
  const fitting = (12 * room.width) / Math.max(1, widthOf(title, TITLE_FONT));
  return Math.floor(Math.min(TITLE_PX / zoom, Math.max(LEAST_TITLE_PX / zoom, fitting), room.height * MOST_OF_HEIGHT));
}

// Outermost groups first. A title that would overlap another one is left out.
export function paintFarTitles(context: CanvasRenderingContext2D, frames: readonly SceneBox[], theme: Theme, zoom: number): void {
  const size = FAR_TITLE_PX / zoom;
  const taken: Rect[] = [];
  context.font = `600 ${size}px ${FONT}`;
  context.lineJoin = "round";
  context.lineWidth = 3 / zoom;
  for (const { title, rectWorld, depth } of frames) {
    const width = (widthOf(title, TITLE_FONT) / 12) * size;
    const place = { x: rectWorld.x + 6 / zoom, y: rectWorld.y + 4 / zoom, width, height: size };
    if (width > rectWorld.width - 12 / zoom || 3 * size > rectWorld.height || taken.some((other) => intersects(other, place))) continue;
    taken.push(place);
    context.strokeStyle = theme.groupFill[depth % 2]!;
    context.strokeText(title, place.x, place.y + size / 2);
    context.fillStyle = theme.ink;
    context.fillText(title, place.x, place.y + size / 2);
  }
}
