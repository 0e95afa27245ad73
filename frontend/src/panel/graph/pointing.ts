// Finds what is under a point of the canvas: a box and the place in its strip, a line, or the mark of a folded chain.

import type { Point } from "../../base/geometry";
import { toWorld } from "../../draw/camera/camera";
import { Picker } from "../../draw/camera/picking";
import { faceOf } from "../../draw/graph/paint_boxes";
import { blockUnder } from "../../draw/scene/paint_strip";
import type { Camera } from "../../draw/graph/painter";
import { edgeNear } from "../../draw/scene/scene";
import { MARK_RADIUS } from "../../layout/edge_labels";
import { blockAt } from "../../model/visible/strip";
import type { Drawn } from "../session/drawing";

const EDGE_REACH_PX = 5;

export interface Pointed {
  readonly pointScreen: Point;
  readonly box: number; // -1: none
  readonly edge: number; // -1: none; lines cross open groups, where a line has priority over the group
  readonly mark: boolean; // the mark of the chains that are folded into the line
  readonly block: number | undefined; // of the box's strip
}

export class Pointing {
  private readonly picker: Picker;

  constructor(private readonly drawn: Drawn) {
    this.picker = new Picker(drawn.scene);
  }

  at(pointScreen: Point, camera: Camera): Pointed {
    const { scene } = this.drawn;
    const point = toWorld(camera, pointScreen);
    const mark = scene.edges.findIndex(
      ({ markWorld }) => markWorld !== undefined && Math.hypot(markWorld.x - point.x, markWorld.y - point.y) <= MARK_RADIUS + 2,
    );
    const box = this.picker.boxAt(point);
    const hit = scene.boxes[box];
    const isOpen = hit === undefined || hit.shape === "frame";
    const hasMark = isOpen || hit.chained;
    if (mark !== -1 && hasMark) return { pointScreen, box, edge: mark, mark: true, block: undefined };
    const edge = isOpen ? edgeNear(scene, point, EDGE_REACH_PX / camera.k) : -1;
    const block = hit?.strip === undefined ? undefined : blockUnder(hit.strip, faceOf(hit), point);
    return { pointScreen, box, edge, mark: false, block };
  }

  // What a click selects: the block of a strip, or else the box. For a copy of a node it is the node.
  idAt({ box: index, block }: Pointed): string | undefined {
    const { visible, scene, hierarchy } = this.drawn;
    const box = visible.boxes[index];
    if (box === undefined) return undefined;
    const { strip } = scene.boxes[index]!;
    if (strip !== undefined && block !== undefined) return blockAt(hierarchy, strip, block).id;
    return box.node === -1 ? box.id : hierarchy.graph.columns.nodes.key[box.node];
  }
}
