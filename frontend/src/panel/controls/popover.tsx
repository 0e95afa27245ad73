// A popover below a button. It closes by itself: on Escape, on a press outside, on a choice.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { ComponentChildren, JSX, RefObject } from "preact";
import { Disposer, listen } from "../../base/disposer";

// Calls `close` on Escape and on a press outside of `place`, as long as `open`.
export function useDismiss(place: RefObject<HTMLElement | null>, open: boolean, close: () => void): void {
  // Listeners are added at once, because a key may be pressed before the next frame.
  useLayoutEffect(() => {
    if (!open) return undefined;
    const disposer = new Disposer();
    // This runs before other listeners, so that Escape closes the popover and not the card behind it.
    disposer.add(
      listen<KeyboardEvent>(
        document,
        "keydown",
        (event) => {
          if (event.key !== "Escape") return;
          event.preventDefault();
          close();
        },
        { capture: true },
      ),
    );
    disposer.add(
      listen<PointerEvent>(
        document,
        "pointerdown",
        (event) => {
          if (event.target instanceof Node && place.current?.contains(event.target) !== true) close();
        },
        { capture: true },
      ),
    );
    return () => disposer.dispose();
  }, [open]);
}

export function Popover({
  id,
  label,
  look,
  title,
  open,
  setOpen,
  children,
}: {
  readonly id: string;
  readonly label: ComponentChildren;
  readonly look: string;
  readonly title?: string;
  readonly open: boolean;
  readonly setOpen: (open: boolean) => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const byKeyboard = useRef(false);
  useDismiss(place, open, () => {
    if (place.current?.contains(document.activeElement) === true) button.current?.focus();
    setOpen(false);
  });
  // What had the focus went with the list: the focus goes back to the button, and not to the page.
  const wasOpen = useRef(false);
  useLayoutEffect(() => {
    if (wasOpen.current && !open && document.activeElement === document.body) button.current?.focus({ preventScroll: true });
    wasOpen.current = open;
  }, [open]);
  useEffect(() => {
    if (open && byKeyboard.current) buttonsIn(place.current?.querySelector(".popover"))[0]?.focus();
  }, [open]);
  return (
    <div class="finder" ref={place}>
      <button
        type="button"
        class={look}
        data-testid={id}
        title={title}
        aria-label={title}
        aria-expanded={open}
        ref={button}
        onClick={(event) => {
          byKeyboard.current = event.detail === 0; // Enter and Space come as clicks without a mouse button
          setOpen(!open);
        }}
      >
        {label}
      </button>
      {open && (
        <div class="popover wide" role="group" aria-label={title ?? id} tabIndex={0} onKeyDown={moveFocus}>
          {children}
        </div>
      )}
    </div>
  );
}

function buttonsIn(element: Element | null | undefined): readonly HTMLElement[] {
  return [...(element?.querySelectorAll<HTMLElement>("button") ?? [])];
}

function moveFocus(event: KeyboardEvent): void {
  const by = arrowOf(event.key);
  if (by === 0 || !(event.currentTarget instanceof Element)) return;
  const all = buttonsIn(event.currentTarget);
  const at = all.indexOf(document.activeElement as HTMLElement) + by;
  all[Math.max(0, Math.min(all.length - 1, at))]?.focus();
  event.preventDefault();
}

export function arrowOf(key: string): number {
  return key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0;
}
