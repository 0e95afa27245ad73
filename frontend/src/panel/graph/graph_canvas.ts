// The canvas: camera, pointer, and at most one paint per frame.

import { effect } from "@preact/signals";
import { Disposer, listen } from "../../base/disposer";
import type { Point, Size } from "../../base/geometry";
import { CameraControl, partInView, wholeView } from "../../draw/camera/camera";
import { Panning } from "../../draw/camera/panning";
import { paint, type Camera } from "../../draw/graph/painter";
import { chooseEdge, openChains, reveal, toggleGroup } from "../../state/actions";
import type { Store } from "../../state/store";
import { followSize, Frames, opaqueContext } from "../picture/live_canvas";
import type { Painted } from "../picture/picture";
import type { Drawing, Drawn } from "../session/drawing";
import { cameraText, firstPlace, frameInView, litKeys, Looking, tellPart } from "./looking";
import { Minimap } from "./minimap";
import { Pointing, type Pointed } from "./pointing";
import { Viewpoint } from "./viewpoint";

const RESTING_MS = 120;

export class GraphCanvas {
  private readonly disposer = new Disposer();
  private readonly control: CameraControl;
  private readonly context: CanvasRenderingContext2D;
  private pointing: Pointing | undefined;
  private readonly looking: Looking;
  private readonly minimap: Minimap;
  private resting: ReturnType<typeof setTimeout> | undefined;
  private rests = false;
  private shown: Drawn | undefined;
  private readonly viewpoint: Viewpoint;
  private size: Size = { width: 0, height: 0 };
  private lastPointer: Point | undefined;
  private readonly frames = new Frames(() => this.paintNow());
  private readonly panning = new Panning();

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly store: Store,
    private readonly drawing: Drawing,
    private readonly onPoint: (pointed: Pointed | undefined) => void,
    small: HTMLCanvasElement,
  ) {
    this.context = opaqueContext(canvas);
    const moved = (): void => {
      // The thing under the pointer is gone.
      this.pointAt(undefined);
      this.viewpoint.moved();
      this.frames.request();
    };
    this.control = new CameraControl(canvas, moved, () => store.look.scrollZooms.peek());
    this.viewpoint = new Viewpoint(this.control, (place) => (store.graph.place.value = place));
    this.looking = new Looking(store);
    this.minimap = new Minimap(small, (pointWorld) => this.viewpoint.goTo(pointWorld));
    this.disposer.add(this.control.dispose);
    this.watchSize();
    this.watchPointer();
    this.disposer.add(effect(() => this.follow(drawing.drawn.value)));
    this.disposer.add(
      effect(() => {
        if (store.graph.focused.value !== undefined) this.viewpoint.glance(store.graph.focused.value);
      }),
    );
    this.disposer.add(effect(() => this.waitForRest(store.graph.hovered.value)));
    this.disposer.add(
      effect(() => {
        // Reads every signal that a frame depends on, so that a change requests a frame.
        void [
          drawing.paints.value,
          drawing.theme.value,
          store.shown.selected.value,
          store.graph.hovered.value,
          store.place.direction.value,
          store.shown.edge.value,
        ];
        this.frames.request();
      }),
    );
  }

  close(): void {
    this.frames.cancel();
    clearTimeout(this.resting);
    this.viewpoint.close();
    this.minimap.close();
    this.disposer.dispose();
  }

  fit(): void {
    this.viewpoint.fit();
  }

  goToPart(part: number): void {
    this.viewpoint.goToPart(part);
  }

  zoomBy(factor: number): void {
    this.control.zoomBy(factor);
  }

  // For saving: the visible part, or the whole layout at its own size.
  picture(whole: boolean): Painted | undefined {
    const { shown, size } = this;
    if (shown === undefined) return undefined;
    const { room, camera } = whole ? wholeView(shown.scene.boundsWorld) : { room: size, camera: this.control.camera };
    return { size: room, paint: (context, pixelRatio) => void this.paintOn(context, camera, room, pixelRatio) };
  }

  private follow(drawn: Drawn | undefined): void {
    const { store } = this;
    if (drawn !== this.shown) {
      this.shown = drawn;
      this.pointing = drawn && new Pointing(drawn);
      this.pointAt(undefined);
    }
    const hash = drawn?.hierarchy.graph.hash;
    const found = this.viewpoint.follow(
      drawn,
      {
        key: [store.place.run.value?.run, store.place.tag.value?.tag, hash, store.graph.refits.value].join("\n"),
        settled: drawn !== undefined && drawn.visible === store.graph.visible.value && hash === store.place.hash.value,
        sought: store.graph.sought.value,
        wanted: store.graph.wantedPlace.value,
        finding: firstPlace(store),
      },
      this.lastPointer,
    );
    if (found) store.graph.sought.value = store.graph.wantedPlace.value = undefined;
    this.frames.request();
  }

  // A hidden frame has no height. Then nothing is measured, fitted or painted.
  private watchSize(): void {
    const measure = (): void => {
      const { clientWidth, clientHeight } = this.canvas;
      if (clientWidth === 0 || clientHeight === 0) return;
      this.size = { width: clientWidth, height: clientHeight };
      if (this.viewpoint.resize(this.size, this.store.shown.selected.peek())) this.store.graph.sought.value = undefined;
      const ratio = window.devicePixelRatio;
      this.canvas.width = Math.round(clientWidth * ratio);
      this.canvas.height = Math.round(clientHeight * ratio);
      this.panning.forget();
      this.paintNow();
    };
    this.disposer.add(followSize(this.canvas, measure));
  }

  private watchPointer(): void {
    const { canvas, store, disposer } = this;
    const pointOf = (event: MouseEvent): Point => ({ x: event.offsetX, y: event.offsetY });
    disposer.add(
      listen<PointerEvent>(canvas, "pointermove", (event) => {
        this.lastPointer = pointOf(event);
        const pointed = this.pointing?.at(this.lastPointer, this.control.camera);
        const onSomething = pointed !== undefined && (pointed.box !== -1 || pointed.edge !== -1);
        this.pointAt(onSomething ? pointed : undefined);
        canvas.style.cursor = onSomething ? "pointer" : "grab";
      }),
    );
    disposer.add(
      listen(canvas, "pointerleave", () => {
        this.lastPointer = undefined;
        this.pointAt(undefined);
      }),
    );
    disposer.add(
      listen<MouseEvent>(canvas, "click", (event) => {
        if (!event.defaultPrevented) this.choose(this.pointing?.at(pointOf(event), this.control.camera));
      }),
    );
    disposer.add(
      listen<MouseEvent>(canvas, "dblclick", (event) => {
        const pointed = this.pointing?.at(pointOf(event), this.control.camera);
        const box = pointed === undefined ? undefined : this.shown?.scene.boxes[pointed.box];
        if (pointed === undefined || box === undefined || pointed.mark) return;
        const block = pointed.block === undefined ? undefined : this.pointing?.idAt(pointed);
        if (block !== undefined) reveal(store, block);
        else toggleGroup(store, box.id);
      }),
    );
  }

  private pointAt(pointed: Pointed | undefined): void {
    const { hovered, focused } = this.store.graph;
    const box = pointed === undefined || pointed.edge !== -1 ? undefined : this.shown?.scene.boxes[pointed.box]?.id;
    // If the pointer is on nothing, the ring shows the keyboard's focus.
    hovered.value = box ?? focused.peek();
    this.onPoint(pointed);
  }

  private choose(pointed: Pointed | undefined): void {
    const { store, shown } = this;
    const line = shown?.visible.edges[pointed?.edge ?? -1];
    if (line !== undefined && pointed?.mark) return openChains(store, line.chains);
    chooseEdge(store, line?.edges);
    if (line === undefined) store.shown.selected.value = pointed && this.pointing?.idAt(pointed);
  }

  // The path from a box lights up only when the pointer rests on it, so that nothing flickers while the pointer moves.
  private waitForRest(hovered: string | undefined): void {
    clearTimeout(this.resting);
    this.rests = false;
    if (hovered === undefined) return;
    this.resting = setTimeout(() => {
      this.rests = true;
      this.frames.request();
    }, RESTING_MS);
  }

  private paintNow(): void {
    const { drawing, size, shown } = this;
    const { camera } = this.control;
    const looked = this.paintOn(this.context, camera, size, window.devicePixelRatio);
    const paints = drawing.paints.peek();
    if (shown === undefined) return this.clear();
    if (paints === undefined || looked === undefined) return;
    this.minimap.update(shown.scene, paints, drawing.theme.peek(), camera, size);
    tellPart(drawing, partInView(shown.scene.boundsWorld, camera, size));
    drawing.inside.value = frameInView(shown.scene, camera, size);
    this.canvas.dataset.lit = litKeys(shown, looked.lit);
    this.canvas.dataset.camera = cameraText(camera);
  }

  // A canvas is black until it is painted.
  private clear(): void {
    this.panning.forget();
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.fillStyle = this.drawing.theme.peek().background;
    this.context.fillRect(0, 0, this.canvas.width, this.canvas.height);
  }

  // Returns what the frame showed besides the drawing; undefined if there is nothing to paint.
  private paintOn(
    context: CanvasRenderingContext2D,
    camera: Camera,
    size: Size,
    pixelRatio: number,
  ): ReturnType<Looking["at"]> | undefined {
    const { drawing, shown } = this;
    const paints = drawing.paints.peek();
    if (shown === undefined || paints === undefined || size.height === 0) return undefined;
    if (paints.boxes.length !== shown.scene.boxes.length) return undefined;
    const looked = this.looking.at(shown, this.rests);
    const view = { camera, size, pixelRatio, ...looked };
    if (context === this.context) this.panning.paint(context, shown.scene, paints, drawing.theme.peek(), view);
    else paint(context, shown.scene, paints, drawing.theme.peek(), view);
    return looked;
  }
}
