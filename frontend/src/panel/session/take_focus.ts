// Gives the panel the keyboard as soon as its tab is shown, so that its keys work without a click.

import type { Dispose } from "../../base/disposer";

const WRITTEN_IN = "input, select, textarea, [contenteditable]";

// The focus is taken once each time that the frame gets a height. It stays with a field in which somebody may be
// writing. In a notebook, whose page is around TensorBoard's, it stays where it is.
export function takeFocusWhenShown(): Dispose {
  let shown = false;
  const look = (): void => {
    const before = shown;
    shown = window.innerHeight > 0;
    if (shown && !before) takeFocus();
  };
  const observer = new ResizeObserver(look);
  observer.observe(document.documentElement);
  look();
  return () => observer.disconnect();
}

function takeFocus(): void {
  try {
    const { parent, frameElement } = window;
    if (frameElement === null || parent !== window.top) return;
    if (parent.document.activeElement?.matches(WRITTEN_IN) !== true) (frameElement as HTMLElement).focus({ preventScroll: true });
  } catch {
    // The parent is of another origin.
  }
}
