// Finds the box under the pointer.

import Flatbush from "flatbush";
import type { Point } from "../../base/geometry";
import type { Scene } from "../scene/scene";

export class Picker {
  private readonly index: Flatbush | undefined;

  private readonly holders: readonly number[];

  constructor(scene: Scene) {
    this.holders = scene.boxes.map(({ holder }) => holder);
    if (scene.boxes.length === 0) return;
    this.index = new Flatbush(scene.boxes.length);
    for (const { rectWorld } of scene.boxes) {
      this.index.add(rectWorld.x, rectWorld.y, rectWorld.x + rectWorld.width, rectWorld.y + rectWorld.height);
    }
    this.index.finish();
  }

  // The innermost box at a point, or -1. Boxes inside a group come after the group, rows anywhere.
  boxAt({ x, y }: Point): number {
    const hits = this.index?.search(x, y, x, y) ?? [];
    return hits.find((box) => this.holders[box] !== -1) ?? Math.max(-1, ...hits);
  }
}
