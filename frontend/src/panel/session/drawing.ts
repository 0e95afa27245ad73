// Connects store, layout and drawing: the scene depends on what is visible, and the paints depend on the step.

import { computed, effect, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { Disposer, type Dispose } from "../../base/disposer";
import { followLatest } from "../../base/follow_latest";
import { paintCompared } from "../../draw/compare/compared_scene";
import { sizesOf } from "../../draw/scene/box_sizes";
import type { Paints } from "../../draw/scene/paints";
import { buildScene, type Scene } from "../../draw/scene/scene";
import { paintScene } from "../../draw/scene/step_paints";
import { makeScale, type ColorScale } from "../../draw/style/color_scale";
import { DEFAULT_RAMP, rampNamed } from "../../draw/style/ramp_names";
import { themeOf, type Theme } from "../../draw/style/theme";
import type { LayoutEngine } from "../../layout/engine";
import { chainAround, type Hierarchy } from "../../model/tree/hierarchy";
import type { VisibleGraph } from "../../model/visible/collapse";
import { collapseAll } from "../../state/actions";
import type { Store } from "../../state/store";

// The results of one layout, kept together because their indices belong together.
export interface Drawn {
  readonly hierarchy: Hierarchy;
  readonly visible: VisibleGraph;
  readonly scene: Scene;
}

// The key of a box: its node's key, or its group's id.
export function keyOf({ visible, hierarchy }: Drawn, index: number): string {
  const box = visible.boxes[index]!;
  return box.node === -1 ? box.id : hierarchy.graph.columns.nodes.key[box.node]!;
}

// The line that shows given edges of the graph in this layout; -1: none.
export function edgeIndex({ visible }: Drawn, edges: readonly number[] | undefined): number {
  return edges === undefined ? -1 : visible.edges.findIndex((line) => line.edges.includes(edges[0]!));
}

// Which part of a drawing is in view that is larger than the view.
export interface Sight {
  readonly part: number; // counted from 1
  readonly count: number;
}

export interface Drawing {
  readonly drawn: Signal<Drawn | undefined>;
  readonly busy: Signal<boolean>;
  readonly part: Signal<number>; // the progress of a long layout, 0..1
  readonly stop: () => void; // ends a long layout; the drawing does not change
  readonly theme: ReadonlySignal<Theme>;
  readonly scale: ReadonlySignal<ColorScale>;
  readonly paints: ReadonlySignal<Paints | undefined>;
  readonly inside: Signal<string | undefined>; // id of the open group that fills the view
  readonly parts: Signal<Sight | undefined>; // undefined if all of it is in view
  readonly close: Dispose;
}

export function createDrawing(store: Store, engine: LayoutEngine): Drawing {
  const drawn = signal<Drawn | undefined>(undefined);
  const busy = signal(false);
  const part = signal(0);
  let shownOpen: ReadonlySet<string> | undefined;
  const theme = computed(() => themeOf(store.look.dark.value, rampNamed(store.look.ramp.value) ?? DEFAULT_RAMP));
  const scale = computed(() => makeScale(store.shown.statistic.value, store.recorded.magnitudes.value, theme.value));
  let last: { of: Drawn; paints: Paints } | undefined;
  const paints = computed(() => {
    const now = drawn.value;
    const began = performance.now();
    const values = store.shown.values.value;
    if (now === undefined) return undefined;
    const matches = store.recorded.hierarchy.value === now.hierarchy;
    // While the next graph is laid out, the old one keeps its colors.
    if (!matches && last?.of === now) return last.paints;
    const comparison = matches ? store.compare.comparison.value : undefined;
    const made =
      comparison !== undefined
        ? paintCompared(
            now.hierarchy,
            now.visible,
            now.scene,
            comparison,
            store.recorded.record.value,
            scale.value,
            store.compare.reach.value,
            theme.value,
          )
        : paintScene(
            now.hierarchy,
            now.visible,
            now.scene,
            scale.value,
            store.shown.statistic.value,
            theme.value,
            matches ? values : undefined,
            matches ? store.recorded.record.value : undefined,
          );
    performance.measure("gradgraph:recolor", { start: began, end: performance.now() });
    last = { of: now, paints: made };
    return made;
  });
  const disposer = new Disposer();
  disposer.add(layOut(store, engine, drawn, busy, part));
  disposer.add(
    effect(() => {
      if (drawn.value !== undefined) shownOpen = store.graph.open.peek();
    }),
  );
  const stop = (): void => {
    engine.cancel();
    if (shownOpen === undefined) collapseAll(store);
    else store.graph.open.value = shownOpen;
  };
  return {
    drawn,
    busy,
    part,
    stop,
    theme,
    scale,
    paints,
    inside: signal(undefined),
    parts: signal(undefined),
    close: () => disposer.dispose(),
  };
}

function layOut(
  { recorded, graph, shown }: Store,
  engine: LayoutEngine,
  drawn: Signal<Drawn | undefined>,
  busy: Signal<boolean>,
  part: Signal<number>,
): Dispose {
  const choice = () => {
    const [hierarchy, visible] = [recorded.hierarchy.value, graph.visible.value];
    const tallest = graph.oneColumn.value ? 0 : pageHeight();
    if (hierarchy !== undefined && visible !== undefined) return [hierarchy, visible, tallest] as const;
    drawn.value = undefined;
    busy.value = false;
    return undefined;
  };
  let began = 0;
  return followLatest(
    choice,
    ([hierarchy, visible, tallest]) => {
      began = performance.now();
      busy.value = true;
      part.value = 0;
      return engine.layOut(
        `${layoutKey(hierarchy, visible)} ${tallest}`,
        visible,
        () => sizesOf(hierarchy, visible),
        (done) => (part.value = done),
        tallest,
      );
    },
    (reply, [hierarchy, visible]) => {
      busy.value = false;
      performance.measure("gradgraph:layout", { start: began, end: performance.now() });
      if (reply.ok) drawn.value = { hierarchy, visible, scene: buildScene(hierarchy, visible, reply.value) };
      else shown.notice.value = reply.error;
    },
  );
}

// What is above and below the drawing, with its margins.
const BARS_PX = 170;
const LEAST_PAGE = 420;
const READING = 0.84;

// What a window shows of the drawing at the zoom at which text can be read, in world units.
function pageHeight(): number {
  return Math.max(LEAST_PAGE, Math.floor((window.innerHeight - BARS_PX) / READING / 20) * 20);
}

// Open chains have no box; their nodes show that they are open.
function layoutKey(hierarchy: Hierarchy, visible: VisibleGraph): string {
  const groups = visible.boxes.filter(({ open }) => open).map(({ group }) => group);
  const chains = new Set(visible.boxes.flatMap(({ node }) => (node === -1 ? [] : (chainAround(hierarchy, node) ?? []))));
  const rows = visible.holder.reduce((count, by) => count + Number(by !== -1), 0);
  return `${hierarchy.graph.hash} ${hierarchy.graph.joint} ${hierarchy.turned} ${groups.join()} ${[...chains].join()} ${rows}`;
}
