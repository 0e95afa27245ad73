// Finds the box under the pointer.

import Flatbush from "flatbush";
import type { Point } from "../../base/geometry";
import type { Scene } from "../graph/scene";

export class Picker {
  private readonly index: Flatbush | undefined;

  constructor(scene: Scene) {
    if (scene.boxes.length === 0) return;
    this.index = new Flatbush(scene.boxes.length);
    for (const { rectWorld } of scene.boxes) {
      this.index.add(rectWorld.x, rectWorld.y, rectWorld.x + rectWorld.width, rectWorld.y + rectWorld.height);
    }
    this.index.finish();
  }

  // The innermost box at a point, or -1. Boxes inside a group come after the group.
  boxAt({ x, y }: Point): number {
    return Math.max(-1, ...(this.index?.search(x, y, x, y) ?? []));
  }
}
