// Buttons that save a picture, one for each format.

import type { JSX } from "preact";
import type { Store } from "../../state/store";
import { savePicture, type Painted } from "../picture/picture";

export function SavePictures({
  store,
  title,
  id,
  name,
  paint,
}: {
  readonly store: Store;
  readonly title: string;
  readonly id: string; // of its buttons
  readonly name: () => string; // of the file
  readonly paint: () => Painted | undefined;
}): JSX.Element {
  const save = (format: "png" | "svg"): void => {
    const painted = paint();
    if (painted !== undefined) void savePicture(format, painted, name(), store);
  };
  return (
    <section>
      <h3 aria-level={2}>{title}</h3>
      <button type="button" class="action" data-testid={`${id}-png`} onClick={() => save("png")}>
        PNG
      </button>
      <button type="button" class="action" data-testid={`${id}-svg`} onClick={() => save("svg")}>
        SVG
      </button>
    </section>
  );
}
