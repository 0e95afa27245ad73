// What a frame shows besides the drawing itself: the selection, the box under the pointer, and the path that is lit.

import { contains, type Size } from "../../base/geometry";
import { cellCount } from "../../draw/scene/paint_strip";
import { visibleWorld, type Camera, type View } from "../../draw/graph/painter";
import type { Scene } from "../../draw/scene/scene";
import { TITLE_HEIGHT } from "../../layout/places/laid_out";
import { lightPath, type Lit } from "../../model/visible/paths";
import { blockOf, firstBlock } from "../../model/visible/strip";
import type { Store } from "../../state/store";
import { edgeIndex, keyOf, type Drawing, type Drawn, type Sight } from "../session/drawing";

type Looked = Pick<View, "backward" | "selected" | "hovered" | "edge" | "cell" | "lit">;

export class Looking {
  private known: { readonly drawn: Drawn; readonly box: number; readonly lit: Lit | undefined } | undefined;

  constructor(private readonly store: Store) {}

  // `resting`: whether the pointer has rested long enough.
  at(drawn: Drawn, resting: boolean): Looked {
    const { store } = this;
    const indexOf = (id: string | undefined): number => (id === undefined ? -1 : (drawn.scene.indexOf.get(id) ?? -1));
    const selected = store.shown.selected.peek();
    const hovered = indexOf(store.graph.hovered.peek());
    return {
      backward: store.place.direction.peek() === "backward",
      selected: indexOf(selected),
      hovered,
      edge: edgeIndex(drawn, store.shown.edge.peek()),
      cell: selected === undefined || drawn.scene.indexOf.has(selected) ? undefined : cellWith(drawn, selected),
      lit: resting && hovered !== -1 ? this.litBy(drawn, hovered) : undefined,
    };
  }

  private litBy(drawn: Drawn, box: number): Lit | undefined {
    if (this.known?.drawn !== drawn || this.known.box !== box)
      this.known = { drawn, box, lit: lightPath(drawn.hierarchy, drawn.visible, box) };
    return this.known.lit;
  }
}

// The cell of a closed run that contains a hidden box.
function cellWith({ hierarchy, scene }: Drawn, id: string): View["cell"] {
  const { groups, groupOf, itemGroup, graph } = hierarchy;
  let group = groupOf.get(id) ?? itemGroup[graph.columns.nodes.key.indexOf(id)] ?? -1;
  for (; group !== -1; group = groups[group]!.parent) {
    const box = scene.indexOf.get(groups[group]!.id);
    const found = box === undefined ? undefined : scene.boxes[box]!;
    if (box === undefined || found?.strip === undefined) continue;
    const block = blockOf(hierarchy, found.strip, id);
    const cells = cellCount(found.strip, found.rectWorld.width);
    let cell = Math.min(cells - 1, Math.floor((block * cells) / found.strip.count));
    while (cell + 1 < cells && firstBlock(found.strip, cell + 1, cells) <= block) cell++;
    return block === -1 ? undefined : { box, cell };
  }
  return undefined;
}

// Keys of the boxes that are lit, for tests and other readers of the page.
export function litKeys(drawn: Drawn, lit: Lit | undefined): string {
  if (lit === undefined) return "";
  return drawn.visible.boxes.flatMap((_, box) => (lit.boxes[box] === 1 ? [keyOf(drawn, box)] : [])).join("\n");
}

// The innermost open group around the middle of the view whose title is out of sight.
export function frameInView({ boxes }: Scene, camera: Camera, size: Size): string | undefined {
  const { x, y, width, height } = visibleWorld(camera, size);
  const middle = { x: x + width / 2, y: y + height / 2 };
  return boxes.findLast(({ shape, rectWorld }) => shape === "frame" && rectWorld.y + TITLE_HEIGHT / 2 < y && contains(rectWorld, middle))
    ?.id;
}

// Where the first finding begins: its node or its module.
export function firstPlace({ findings }: Store): string | undefined {
  const [first] = findings.causes.value;
  return first === undefined ? undefined : first.key || `${first.module}#0`;
}

export function cameraText({ x, y, k }: Camera): string {
  return [x, y, k].map((part) => part.toFixed(3)).join(",");
}

export function tellPart({ parts }: Drawing, now: Sight | undefined): void {
  if (parts.peek()?.part !== now?.part || parts.peek()?.count !== now?.count) parts.value = now;
}
