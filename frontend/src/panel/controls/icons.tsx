// Icons, and a button with only an icon. Icons are drawn here because TensorBoard's policy forbids
// fonts and images from other hosts.

import type { ComponentChildren, JSX } from "preact";

function icon(path: string): () => JSX.Element {
  return () => (
    <svg
      width="16"
      height="16"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={path} />
    </svg>
  );
}

export const PlayIcon = icon("M5 3.5v9l7-4.5z");
export const PauseIcon = icon("M5.5 3.5v9M10.5 3.5v9");
export const FirstIcon = icon("M12 4 7.5 8l4.5 4M4.5 4v8");
export const PreviousIcon = icon("M9.5 4 5.5 8l4 4");
export const NextIcon = icon("M6.5 4l4 4-4 4");
export const LastIcon = icon("M4 4l4.5 4L4 12M11.5 4v8");
export const FitIcon = icon("M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10");
export const ExpandIcon = icon("M4 6.5 8 2.5l4 4M4 9.5l4 4 4-4");
export const CollapseIcon = icon("M4 2.5l4 4 4-4M4 13.5l4-4 4 4");
export const TakeAwayIcon = icon("M8 2.5v7M5 7l3 3 3-3M3 12.5v1h10v-1");
export const BookmarkIcon = icon("M4.5 2.5h7v11L8 10.5l-3.5 3z");
export const ColorsIcon = icon("M2.5 8a5.5 5.5 0 1 0 11 0 5.5 5.5 0 1 0-11 0M8 2.5v11M8 5h4.5M8 8h5.5M8 11h4.5");
export const CheckIcon = icon("M3.5 8.5l3 3 6-7");
export const CloseIcon = icon("M4 4l8 8M12 4l-8 8");
export const SwapIcon = icon("M2.5 5.5h10M10 3l2.5 2.5L10 8M13.5 10.5h-10M6 8l-2.5 2.5L6 13");
export const ColumnsIcon = icon("M2.5 3h4v10h-4zM9.5 3h4v10h-4z");
export const FollowingIcon = icon("M2.5 2.5h11v11h-11zM5 8h6M5 10.8h6");
export const PlusIcon = icon("M8 3.5v9M3.5 8h9");
export const MinusIcon = icon("M3.5 8h9");
export const UpIcon = icon("M8 13V3M4.5 6.5 8 3l3.5 3.5");
export const DownIcon = icon("M8 3v10M4.5 9.5 8 13l3.5-3.5");
export const PinIcon = icon("M6 2.5h4l-.5 4.5 2 2.5h-7l2-2.5zM8 9.5v4");

// Its label is its tooltip and its name for screen readers.
export function IconButton({
  id,
  label,
  onClick,
  children,
  disabled = false,
}: {
  readonly id: string;
  readonly label: string;
  readonly onClick: () => void;
  readonly children: ComponentChildren;
  readonly disabled?: boolean;
}): JSX.Element {
  return (
    <button type="button" class="icon" data-testid={id} aria-label={label} title={label} disabled={disabled} onClick={onClick}>
      {children}
    </button>
  );
}
