// What a turn of the wheel, two fingers on a pad or a pinch mean: they move the drawing, or zoom it.

export type Turn = { readonly factor: number } | { readonly dx: number; readonly dy: number };

// Of a line or a page, if the browser counts in those.
const PX_OF_MODE = [1, 16, 400] as const;
// A pinch comes as many small turns with Ctrl. One notch of a wheel is 100 and more, and must not zoom by 4.
const MOST_PINCHED = 24;
const PINCH_ZOOM = 0.0125;
const WHEEL_ZOOM = 0.002;

// With Ctrl or Cmd it zooms; else it moves, or zooms where the user has chosen so.
export function turnOf(event: WheelEvent, scrollZooms: boolean): Turn {
  const px = PX_OF_MODE[event.deltaMode as 0 | 1 | 2];
  const [dx, dy] = [event.deltaX * px, event.deltaY * px];
  if (event.ctrlKey || event.metaKey) return { factor: 2 ** (-Math.max(-MOST_PINCHED, Math.min(MOST_PINCHED, dy)) * PINCH_ZOOM) };
  if (scrollZooms && Math.abs(dy) >= Math.abs(dx) && !event.shiftKey) return { factor: 2 ** (-dy * WHEEL_ZOOM) };
  // Some browsers turn the axes with Shift, some do not.
  return event.shiftKey && dx === 0 ? { dx: -dy, dy: 0 } : { dx: -dx, dy: -dy };
}
