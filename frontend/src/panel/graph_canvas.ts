// The canvas: camera, pointer, and one paint a frame when something changed.

import { effect } from "@preact/signals";
import { encloses, type Point, type Size } from "../base/geometry";
import { Disposer, listen } from "../base/disposer";
import { bringIn, CameraControl, fitCamera, startCamera, toScreen, toWorld } from "../draw/camera";
import { paint, visibleWorld, type Camera } from "../draw/painter";
import { Picker } from "../draw/picking";
import { edgeNear, type Scene } from "../draw/scene";
import { toggleGroup } from "../state/actions";
import type { Store } from "../state/store";
import type { Drawing, Drawn } from "./drawing";

const EDGE_REACH_PX = 5;
const SECOND_CLICK_MS = 450;

export interface Pointed {
  readonly pointScreen: Point;
  readonly box: number;
  readonly edge: number;
}

export class GraphCanvas {
  private readonly disposer = new Disposer();
  private readonly control: CameraControl;
  private readonly context: CanvasRenderingContext2D;
  private picker: Picker | undefined;
  private shown: Drawn | undefined;
  private size: Size = { width: 0, height: 0 };
  private awaitsFit = true;
  private frame = 0;
  private settling: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly store: Store,
    private readonly drawing: Drawing,
    private readonly onPoint: (pointed: Pointed | undefined) => void,
  ) {
    const context = canvas.getContext("2d", { alpha: false });
    if (context === null) throw new Error("This browser gives no 2D canvas.");
    this.context = context;
    this.control = new CameraControl(canvas, () => this.request());
    this.disposer.add(this.control.dispose);
    this.watchSize();
    this.watchPointer();
    this.disposer.add(effect(() => this.follow(drawing.drawn.value)));
    this.disposer.add(effect(() => {
      // Everything that a frame depends on; reading it here asks for a frame.
      void [drawing.paints.value, drawing.theme.value, store.selected.value, store.hovered.value, store.direction.value];
      this.request();
    }));
  }

  close(): void {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.settling);
    this.disposer.dispose();
  }

  fit(): void {
    if (this.shown !== undefined) this.control.set(fitCamera(this.shown.scene.boundsWorld, this.size));
  }

  zoomBy(factor: number): void {
    this.control.zoomBy(factor);
  }

  // Brings a box into view if it is out of it.
  showBox(id: string): void {
    const rect = this.shown?.scene.boxes[this.shown.scene.indexOf.get(id) ?? -1]?.rectWorld;
    if (rect === undefined) return;
    const { camera } = this.control;
    const middle = toScreen(camera, { x: rect.x + rect.width / 2, y: rect.y + Math.min(rect.height, 40) / 2 });
    const inView = middle.x > 40 && middle.y > 40 && middle.x < this.size.width - 40 && middle.y < this.size.height - 40;
    if (inView) return;
    this.control.set({
      k: camera.k,
      x: camera.x + this.size.width / 2 - middle.x,
      y: camera.y + this.size.height / 2 - middle.y,
    });
  }

  // A new layout: the box that the eye was on stays where it was on the screen.
  private follow(drawn: Drawn | undefined): void {
    const before = this.shown;
    this.shown = drawn;
    this.picker = drawn && new Picker(drawn.scene);
    if (drawn === undefined) return;
    const anchor = before && this.anchorOf(before.scene, drawn.scene);
    if (anchor === undefined) this.awaitsFit = true;
    else this.keepPlace(anchor);
    this.start();
    this.request();
  }

  private anchorOf(before: Scene, after: Scene): { was: Point; now: Point } | undefined {
    const { camera } = this.control;
    const eye = this.eye();
    let best: { was: Point; now: Point; distance: number } | undefined;
    for (const box of before.boxes) {
      const index = after.indexOf.get(box.id);
      if (index === undefined) continue;
      const rect = box.rectWorld;
      const was = toScreen(camera, { x: rect.x + rect.width / 2, y: rect.y });
      const distance = Math.hypot(was.x - eye.x, was.y - eye.y);
      if (best !== undefined && distance >= best.distance) continue;
      const to = after.boxes[index]!.rectWorld;
      best = { was, now: { x: to.x + to.width / 2, y: to.y }, distance };
    }
    return best;
  }

  private lastPointer: Point | undefined;

  private eye(): Point {
    return this.lastPointer ?? { x: this.size.width / 2, y: this.size.height / 2 };
  }

  private keepPlace({ was, now }: { was: Point; now: Point }): void {
    const { k } = this.control.camera;
    this.control.set({ k, x: was.x - now.x * k, y: was.y - now.y * k });
  }

  private start(): void {
    if (!this.awaitsFit || this.shown === undefined || this.size.height === 0) return;
    this.awaitsFit = false;
    this.control.set(startCamera(this.shown.scene.boundsWorld, this.size));
  }

  // A hidden frame has no height: then nothing is measured, fitted or painted.
  private watchSize(): void {
    const measure = (): void => {
      const { clientWidth, clientHeight } = this.canvas;
      if (clientWidth === 0 || clientHeight === 0) return;
      const wasWhole = this.showsAll();
      this.size = { width: clientWidth, height: clientHeight };
      const ratio = window.devicePixelRatio;
      this.canvas.width = Math.round(clientWidth * ratio);
      this.canvas.height = Math.round(clientHeight * ratio);
      this.start();
      this.paintNow();
      if (!this.showsAll()) this.settle(wasWhole);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(this.canvas);
    this.disposer.add(() => observer.disconnect());
    measure();
  }

  private showsAll(): boolean {
    const { boundsWorld } = this.shown?.scene ?? {};
    return boundsWorld !== undefined && this.size.width > 0 && encloses(visibleWorld(this.control.camera, this.size), boundsWorld);
  }

  // The card took room: what was in view comes back into it, but not under a second click.
  private settle(wasWhole: boolean): void {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => {
      const selected = this.store.selected.peek();
      const bounds = this.shown?.scene.boundsWorld;
      if (wasWhole && bounds !== undefined) this.control.set(bringIn(this.control.camera, bounds, this.size));
      else if (selected !== undefined) this.showBox(selected);
    }, SECOND_CLICK_MS);
  }

  private watchPointer(): void {
    const { canvas, store, disposer } = this;
    disposer.add(listen<PointerEvent>(canvas, "pointermove", (event) => {
      const pointScreen = { x: event.offsetX, y: event.offsetY };
      this.lastPointer = pointScreen;
      const box = this.boxAt(pointScreen);
      const edge = box === -1 || this.shown?.scene.boxes[box]?.shape === "frame" ? this.edgeAt(pointScreen) : -1;
      store.hovered.value = edge === -1 ? this.idOf(box) : undefined;
      this.onPoint(box === -1 && edge === -1 ? undefined : { pointScreen, box, edge });
      canvas.style.cursor = box !== -1 ? "pointer" : "grab";
    }));
    disposer.add(listen(canvas, "pointerleave", () => {
      this.lastPointer = undefined;
      store.hovered.value = undefined;
      this.onPoint(undefined);
    }));
    disposer.add(listen<MouseEvent>(canvas, "click", (event) => {
      if (event.defaultPrevented) return;
      store.selected.value = this.selectable(this.boxAt({ x: event.offsetX, y: event.offsetY }));
    }));
    disposer.add(listen<MouseEvent>(canvas, "dblclick", (event) => {
      const id = this.idOf(this.boxAt({ x: event.offsetX, y: event.offsetY }));
      if (id !== undefined) toggleGroup(store, id);
    }));
  }

  private boxAt(pointScreen: Point): number {
    return this.picker?.boxAt(toWorld(this.control.camera, pointScreen)) ?? -1;
  }

  private edgeAt(pointScreen: Point): number {
    if (this.shown === undefined) return -1;
    const { camera } = this.control;
    return edgeNear(this.shown.scene, toWorld(camera, pointScreen), EDGE_REACH_PX / camera.k);
  }

  private idOf(box: number): string | undefined {
    return this.shown?.scene.boxes[box]?.id;
  }

  // A copy of a node selects the node.
  private selectable(index: number): string | undefined {
    const box = this.shown?.visible.boxes[index];
    if (box === undefined || box.node === -1) return box?.id;
    return this.shown?.hierarchy.graph.columns.nodes.key[box.node];
  }

  private request(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.paintNow());
  }

  private paintNow(): void {
    const { drawing, store, size } = this;
    const paints = drawing.paints.peek();
    const scene = this.shown?.scene;
    if (scene === undefined || paints === undefined || size.height === 0) return;
    if (paints.boxes.length !== scene.boxes.length) return;
    const indexOf = (id: string | undefined): number => (id === undefined ? -1 : (scene.indexOf.get(id) ?? -1));
    const { camera } = this.control;
    paint(this.context, scene, paints, drawing.theme.peek(), {
      camera, size,
      pixelRatio: window.devicePixelRatio,
      backward: store.direction.peek() === "backward",
      selected: indexOf(store.selected.peek()),
      hovered: indexOf(store.hovered.peek()),
    });
    this.canvas.dataset.camera = cameraText(camera);
  }
}

function cameraText({ x, y, k }: Camera): string {
  return [x, y, k].map((part) => part.toFixed(3)).join(",");
}
