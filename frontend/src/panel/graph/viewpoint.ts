// Positions the camera: at the start for another graph, in place when groups open, and at a box that was requested.

import { encloses, type Point, type Rect, type Size } from "../../base/geometry";
import { anchoredCamera, anchorText } from "../../draw/camera/anchored";
import { bringIn, cameraAtPart, fitCamera, startCamera, toScreen, type CameraControl } from "../../draw/camera/camera";
import { visibleWorld, type Camera } from "../../draw/graph/painter";
import type { SceneBox } from "../../draw/scene/scene";
import type { Drawn } from "../session/drawing";

const MARGIN_PX = 24;
// From this zoom on, the text of boxes is readable. Below it, a requested box is shown closer.
const READABLE = 0.6;
const CLOSER = 0.9;
const SECOND_CLICK_MS = 450;
const SETTLED_MS = 200;

export interface Look {
  readonly key: string; // changes when the camera must start again
  readonly settled: boolean; // whether the drawing shows the present choice
  readonly sought: string | undefined;
  readonly wanted: string | undefined; // the place that a link requests; what is sought is not looked for then
  readonly finding: string | undefined; // where the first finding is; the start shows it, if not everything
}

export class Viewpoint {
  private drawn: Drawn | undefined;
  private size: Size = { width: 0, height: 0 };
  private look: Look = { key: "", settled: false, sought: undefined, wanted: undefined, finding: undefined };
  private startedFor: string | undefined;
  private started: Camera | undefined;
  private settling: ReturnType<typeof setTimeout> | undefined;
  private telling: ReturnType<typeof setTimeout> | undefined;
  private restored: { readonly text: string; readonly camera: Camera | undefined } | undefined;

  // `tell` gets the place of the camera when it rests; undefined: where it started.
  constructor(
    private readonly control: CameraControl,
    private readonly tell: (place: string | undefined) => void,
  ) {}

  close(): void {
    clearTimeout(this.settling);
    clearTimeout(this.telling);
    this.tell(undefined);
  }

  moved(): void {
    clearTimeout(this.telling);
    this.telling = setTimeout(() => {
      const { camera } = this.control;
      if (this.drawn !== undefined) this.tell(this.isAt(this.started) ? undefined : anchorText(this.drawn.scene, camera, this.size));
    }, SETTLED_MS);
  }

  private isAt(camera: Camera | undefined): boolean {
    const { x, y, k } = this.control.camera;
    return x === camera?.x && y === camera.y && k === camera.k;
  }

  fit(): void {
    if (this.drawn !== undefined) this.control.set(fitCamera(this.drawn.scene.boundsWorld, this.size));
  }

  // The drawing in parts as large as the view, counted from 1.
  goToPart(part: number): void {
    if (this.drawn !== undefined) this.control.set(cameraAtPart(this.drawn.scene.boundsWorld, this.control.camera.k, this.size, part));
  }

  // Puts a point of the drawing into the middle of the view.
  goTo({ x, y }: Point): void {
    const { k } = this.control.camera;
    this.control.set({ k, x: this.size.width / 2 - x * k, y: this.size.height / 2 - y * k });
  }

  // Returns whether the sought box is in view now. `eye`: the point on the screen where nothing should move.
  follow(drawn: Drawn | undefined, look: Look, eye: Point | undefined): boolean {
    const before = this.drawn;
    this.drawn = drawn;
    const isNews = look.finding !== undefined && look.finding !== this.look.finding;
    this.look = look;
    if (isNews && before === drawn && drawn !== undefined) this.startAgain();
    if (before !== undefined && drawn !== undefined && before !== drawn) this.keepPlace(before, drawn, eye);
    return this.arrive();
  }

  // The card took some room, so the box is moved back into view, but not during a double click.
  resize(size: Size, selected: string | undefined): boolean {
    const bounds = this.showsAll() ? this.drawn?.scene.boundsWorld : undefined;
    const rect = selected === undefined ? undefined : this.rectOf(selected);
    const wasInView = rect !== undefined && this.isInView(rect);
    const isRestored = this.isAt(this.restored?.camera);
    this.size = size;
    clearTimeout(this.settling);
    if (isRestored && this.restore(this.restored!.text)) return true;
    if (this.arrive()) return true;
    this.settling = setTimeout(() => {
      const { camera } = this.control;
      if (bounds !== undefined) this.control.set(bringIn(camera, bounds, this.size));
      else if (wasInView && !this.isInView(rect)) this.center(rect, camera.k);
    }, SECOND_CLICK_MS);
    return false;
  }

  private showsAll(): boolean {
    const bounds = this.drawn?.scene.boundsWorld;
    return bounds !== undefined && this.size.width > 0 && encloses(visibleWorld(this.control.camera, this.size), bounds);
  }

  private arrive(): boolean {
    const { key, settled, sought, wanted } = this.look;
    if (this.drawn === undefined || !settled || this.size.height === 0) return false;
    if (this.startedFor !== key) {
      this.startedFor = key;
      clearTimeout(this.settling);
      this.start();
    }
    if (wanted !== undefined && wanted !== this.restored?.text && this.restore(wanted)) return true;
    if (sought === undefined) return false;
    clearTimeout(this.settling);
    this.show(sought);
    return true;
  }

  private start(): void {
    const { scene } = this.drawn!;
    const end = scene.boxes.findLast(({ shape }) => shape === "root") ?? scene.boxes.at(-1)!;
    const focus = (this.look.finding === undefined ? undefined : this.rectOf(this.look.finding)) ?? end.rectWorld;
    this.control.set(startCamera(scene.boundsWorld, this.size, focus));
    this.started = this.control.camera;
  }

  // A link's place; whether the drawing has it.
  private restore(text: string): boolean {
    const camera = this.drawn && anchoredCamera(this.drawn.scene, text, this.size);
    if (camera !== undefined) this.control.set(camera);
    this.restored = { text, camera: camera && this.control.camera };
    return camera !== undefined;
  }

  // Findings come later than the drawing. Whoever has moved it since is not moved again.
  private startAgain(): void {
    if (this.isAt(this.started)) this.start();
  }

  // A visible box does not move, however small it is.
  glance(id: string): void {
    const rect = this.rectOf(id);
    if (rect !== undefined && !this.isInView(rect, 0)) this.show(id);
  }

  private show(id: string): void {
    const rect = this.rectOf(id);
    if (rect === undefined) return;
    const { k } = this.control.camera;
    if (k < READABLE) this.center(rect, CLOSER);
    else if (!this.isInView(rect)) this.center(rect, k);
  }

  // The rectangle of a box, or of the closed group that hides it; for a large frame, its upper part.
  private rectOf(id: string): Rect | undefined {
    if (this.drawn === undefined) return undefined;
    const { scene, hierarchy } = this.drawn;
    const node = hierarchy.graph.columns.nodes.key.indexOf(id);
    let box = scene.indexOf.get(id);
    let group = hierarchy.groupOf.get(id) ?? hierarchy.itemGroup[node] ?? -1;
    for (; box === undefined && group !== -1; group = hierarchy.groups[group]!.parent) {
      box = scene.indexOf.get(hierarchy.groups[group]!.id);
    }
    const rect = box === undefined ? undefined : scene.boxes[box]?.rectWorld;
    return rect && { ...rect, height: Math.min(rect.height, 60) };
  }

  private isInView({ x, y, width, height }: Rect, margin = MARGIN_PX): boolean {
    const { camera } = this.control;
    const from = toScreen(camera, { x, y });
    const to = toScreen(camera, { x: x + width, y: y + height });
    const middle = (from.x + to.x) / 2;
    const { width: right, height: bottom } = this.size;
    const wide = width * camera.k > right - 2 * margin;
    const across = wide ? middle > 0 && middle < right : from.x >= margin && to.x <= right - margin;
    return across && from.y >= margin && to.y <= bottom - margin;
  }

  private center({ x, y, width, height }: Rect, k: number): void {
    this.control.set({ k, x: this.size.width / 2 - (x + width / 2) * k, y: this.size.height * 0.45 - (y + height / 2) * k });
  }

  // After a new layout, the group that was opened or closed stays at its place on the screen, or else the box at `eye`.
  private keepPlace(before: Drawn, after: Drawn, eye: Point | undefined): void {
    const at = eye ?? { x: this.size.width / 2, y: this.size.height / 2 };
    const { k } = this.control.camera;
    const kept = before.scene.boxes.filter(({ id }) => after.scene.indexOf.has(id));
    const twin = ({ id }: SceneBox): SceneBox => after.scene.boxes[after.scene.indexOf.get(id)!]!;
    const turned = kept.filter((box) => (box.shape === "frame") !== (twin(box).shape === "frame"));
    const onScreen = ({ rectWorld: { x, y, width } }: SceneBox): Point => toScreen(this.control.camera, { x: x + width / 2, y });
    const away = (box: SceneBox): number => Math.hypot(onScreen(box).x - at.x, onScreen(box).y - at.y);
    const choice = turned.length === 1 ? turned : kept;
    const [first] = choice;
    if (first === undefined) return;
    const best = choice.reduce((one, other) => (away(other) < away(one) ? other : one), first);
    const was = onScreen(best);
    const { x, y, width } = twin(best).rectWorld;
    this.control.set({ k, x: was.x - (x + width / 2) * k, y: was.y - y * k });
  }
}
