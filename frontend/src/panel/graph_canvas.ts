// The canvas: camera, pointer, and one paint a frame when something changed.

import { effect } from "@preact/signals";
import type { Point, Size } from "../base/geometry";
import { Disposer, listen } from "../base/disposer";
import { CameraControl, toWorld } from "../draw/camera";
import { paint, type Camera } from "../draw/painter";
import { Picker } from "../draw/picking";
import { edgeNear } from "../draw/scene";
import { chooseEdge, toggleGroup } from "../state/actions";
import type { Store } from "../state/store";
import { edgeIndex, type Drawing, type Drawn } from "./drawing";
import type { View } from "./picture";
import { Viewpoint } from "./viewpoint";

const EDGE_REACH_PX = 5;
const AROUND_PX = 24;

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
  private readonly viewpoint: Viewpoint;
  private size: Size = { width: 0, height: 0 };
  private lastPointer: Point | undefined;
  private frame = 0;

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly store: Store,
    private readonly drawing: Drawing,
    private readonly onPoint: (pointed: Pointed | undefined) => void,
  ) {
    const context = canvas.getContext("2d", { alpha: false });
    if (context === null) throw new Error("This browser gives no 2D canvas.");
    this.context = context;
    this.control = new CameraControl(canvas, () => {
      // What lay under the pointer no longer does.
      this.pointAt(undefined);
      this.request();
    });
    this.viewpoint = new Viewpoint(this.control);
    this.disposer.add(this.control.dispose);
    this.watchSize();
    this.watchPointer();
    this.disposer.add(effect(() => this.follow(drawing.drawn.value)));
    this.disposer.add(effect(() => {
      // Everything that a frame depends on; reading it here asks for a frame.
      void [drawing.paints.value, drawing.theme.value, store.selected.value, store.hovered.value, store.direction.value, store.edge.value];
      this.request();
    }));
  }

  close(): void {
    cancelAnimationFrame(this.frame);
    this.viewpoint.close();
    this.disposer.dispose();
  }

  fit(): void {
    this.viewpoint.fit();
  }

  zoomBy(factor: number): void {
    this.control.zoomBy(factor);
  }

  // To take away: what is in sight, or all that is laid out, at its own size.
  picture(whole: boolean): View | undefined {
    const { shown, size } = this;
    if (shown === undefined) return undefined;
    const { x, y, width, height } = shown.scene.boundsWorld;
    const camera = whole ? { k: 1, x: AROUND_PX - x, y: AROUND_PX - y } : this.control.camera;
    const room = whole ? { width: width + 2 * AROUND_PX, height: height + 2 * AROUND_PX } : size;
    return { size: room, paint: (context, pixelRatio) => void this.paintOn(context, camera, room, pixelRatio) };
  }

  private follow(drawn: Drawn | undefined): void {
    const { store } = this;
    if (drawn !== this.shown) {
      this.shown = drawn;
      this.picker = drawn && new Picker(drawn.scene);
      this.pointAt(undefined);
    }
    const hash = drawn?.hierarchy.graph.hash;
    const found = this.viewpoint.follow(drawn, {
      key: [store.run.value?.run, store.tag.value?.tag, hash, store.refits.value].join("\n"),
      settled: drawn !== undefined && drawn.visible === store.visible.value && hash === store.hash.value,
      sought: store.sought.value,
    }, this.lastPointer);
    if (found) store.sought.value = undefined;
    this.request();
  }

  // A hidden frame has no height: then nothing is measured, fitted or painted.
  private watchSize(): void {
    const measure = (): void => {
      const { clientWidth, clientHeight } = this.canvas;
      if (clientWidth === 0 || clientHeight === 0) return;
      this.size = { width: clientWidth, height: clientHeight };
      if (this.viewpoint.resize(this.size, this.store.selected.peek())) this.store.sought.value = undefined;
      const ratio = window.devicePixelRatio;
      this.canvas.width = Math.round(clientWidth * ratio);
      this.canvas.height = Math.round(clientHeight * ratio);
      this.paintNow();
    };
    const observer = new ResizeObserver(measure);
    observer.observe(this.canvas);
    this.disposer.add(() => observer.disconnect());
    measure();
  }

  private watchPointer(): void {
    const { canvas, store, disposer } = this;
    disposer.add(listen<PointerEvent>(canvas, "pointermove", (event) => {
      const pointScreen = { x: event.offsetX, y: event.offsetY };
      this.lastPointer = pointScreen;
      const box = this.boxAt(pointScreen);
      const edge = box === -1 || this.shown?.scene.boxes[box]?.shape === "frame" ? this.edgeAt(pointScreen) : -1;
      this.pointAt(box === -1 && edge === -1 ? undefined : { pointScreen, box, edge });
      canvas.style.cursor = box !== -1 || edge !== -1 ? "pointer" : "grab";
    }));
    disposer.add(listen(canvas, "pointerleave", () => {
      this.lastPointer = undefined;
      this.pointAt(undefined);
    }));
    disposer.add(listen<MouseEvent>(canvas, "click", (event) => {
      if (event.defaultPrevented) return;
      this.choose({ x: event.offsetX, y: event.offsetY });
    }));
    disposer.add(listen<MouseEvent>(canvas, "dblclick", (event) => {
      const id = this.idOf(this.boxAt({ x: event.offsetX, y: event.offsetY }));
      if (id !== undefined) toggleGroup(store, id);
    }));
  }

  private pointAt(pointed: Pointed | undefined): void {
    this.store.hovered.value = pointed === undefined || pointed.edge !== -1 ? undefined : this.idOf(pointed.box);
    this.onPoint(pointed);
  }

  // Lines cross open groups, so there a line goes before the group.
  private choose(pointScreen: Point): void {
    const { store, shown } = this;
    const box = this.boxAt(pointScreen);
    const edge = box === -1 || shown?.scene.boxes[box]?.shape === "frame" ? this.edgeAt(pointScreen) : -1;
    if (edge !== -1) chooseEdge(store, shown?.visible.edges[edge]?.edges);
    else {
      chooseEdge(store, undefined);
      store.selected.value = this.selectable(box);
    }
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
    const { camera } = this.control;
    if (this.paintOn(this.context, camera, this.size, window.devicePixelRatio)) this.canvas.dataset.camera = cameraText(camera);
    else if (this.shown === undefined) this.clear();
  }

  // A canvas is black until it is painted.
  private clear(): void {
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.fillStyle = this.drawing.theme.peek().background;
    this.context.fillRect(0, 0, this.canvas.width, this.canvas.height);
  }

  private paintOn(context: CanvasRenderingContext2D, camera: Camera, size: Size, pixelRatio: number): boolean {
    const { drawing, store } = this;
    const paints = drawing.paints.peek();
    const scene = this.shown?.scene;
    if (scene === undefined || paints === undefined || size.height === 0) return false;
    if (paints.boxes.length !== scene.boxes.length) return false;
    const indexOf = (id: string | undefined): number => (id === undefined ? -1 : (scene.indexOf.get(id) ?? -1));
    paint(context, scene, paints, drawing.theme.peek(), {
      camera, size, pixelRatio,
      backward: store.direction.peek() === "backward",
      selected: indexOf(store.selected.peek()),
      hovered: indexOf(store.hovered.peek()),
      edge: this.shown === undefined ? -1 : edgeIndex(this.shown, store.edge.peek()),
    });
    return true;
  }
}

function cameraText({ x, y, k }: Camera): string {
  return [x, y, k].map((part) => part.toFixed(3)).join(",");
}
