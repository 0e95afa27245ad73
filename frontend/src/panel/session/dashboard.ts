// Links to TensorBoard's own Graphs dashboard, which shows the same graph: to a node there, and
// back to the node that was selected there.
//
// This uses internals of TensorBoard, which has no API for it. If anything is unexpected, it stops
// silently, and the dashboard is shown without the node.

import { listen, type Dispose } from "../../base/disposer";

const LOOK_MS = 150;
const PATIENCE_MS = 15_000;

interface Polymer extends HTMLElement {
  set(name: string, value: unknown): void;
}
interface Controls extends Polymer {
  readonly datasets?: readonly { readonly name: string; readonly tags: readonly { readonly tag: string | null }[] }[];
  readonly selection?: { readonly run: string; readonly tag: string | null };
}
interface Dashboard extends Polymer {
  readonly _graphHierarchy?: { getNodeMap(): Readonly<Record<string, unknown>> };
  readonly _progress?: { readonly value?: number; readonly error?: boolean } | null;
}
interface Scene extends Polymer {
  readonly renderHierarchy?: { readonly hierarchy?: unknown } | null;
}

function host(): Window | undefined {
  try {
    const { parent } = window;
    return parent !== window && parent.document.querySelector("tb-webapp, tf-tensorboard") !== null ? parent : undefined;
  } catch {
    return undefined;
  }
}

export function hasDashboard(): boolean {
  return host() !== undefined;
}

// Opens the dashboard at our graph of a run and tag, and selects the node of that name once it is there.
export function showInDashboard(run: string, tag: string, name: string): void {
  const parent = host();
  if (parent === undefined) return;
  parent.location.hash = `graphs&run=${encodeURIComponent(run)}`;
  const until = performance.now() + PATIENCE_MS;
  const look = (): void => {
    if (performance.now() > until) return;
    try {
      if (!selectIn(parent.document, run, `gradgraph/${tag}`, name)) setTimeout(look, LOOK_MS);
    } catch {
      // An unknown version of TensorBoard.
    }
  };
  look();
}

// Takes one step; returns whether it was the last one.
function selectIn(page: Document, run: string, tag: string, name: string): boolean {
  const dashboard = page.querySelector<Dashboard>("tf-graph-dashboard");
  const controls = dashboard?.shadowRoot?.querySelector<Controls>("tf-graph-controls");
  if (dashboard == null || controls == null || controls.datasets === undefined || controls.datasets.length === 0) return false;
  const { selection } = controls;
  if (selection?.run !== run || selection.tag !== tag) {
    const at = controls.datasets.findIndex((one) => one.name === run);
    const tagAt = controls.datasets[at]?.tags.findIndex((one) => one.tag === tag) ?? -1;
    if (tagAt === -1) return true;
    if (isLoading(dashboard)) return false;
    controls.set("_selectedRunIndex", at);
    controls.set("_selectedTagIndex", tagAt);
    return false;
  }
  if (dashboard._graphHierarchy?.getNodeMap()[name] === undefined || !isBuilt(dashboard)) return false;
  dashboard.set("_selectedNode", name);
  return true;
}

// TensorBoard does not drop a graph that arrives late, which would replace the one that was chosen in the meantime.
function isLoading({ _progress: progress }: Dashboard): boolean {
  return progress?.value !== undefined && progress.value < 100 && progress.error !== true;
}

// Whether the scene has built this graph. Before that, a selection throws and the groups around the
// node are not opened. If there is no such scene (its place is that of TensorBoard 2.16 to 2.21),
// there is nothing to wait for.
function isBuilt(dashboard: Dashboard): boolean {
  let inner: Element | null | undefined = dashboard;
  for (const tag of ["tf-graph-board", "tf-graph", "tf-graph-scene"]) inner = inner?.shadowRoot?.querySelector(tag);
  if (inner == null || !("renderHierarchy" in inner)) return true;
  const built = (inner as Scene).renderHierarchy;
  return built != null && (built.hierarchy === undefined || built.hierarchy === dashboard._graphHierarchy);
}

// Calls back with the name of the node that was selected in the dashboard, when the panel is shown again.
export function watchDashboard(onReturn: (name: string) => void): Dispose {
  const parent = host();
  if (parent === undefined) return () => undefined;
  let chosen: string | undefined;
  const forget = listen<CustomEvent<{ readonly name?: unknown }>>(parent.document, "node-select", ({ detail }) => {
    if (window.innerHeight === 0) chosen = typeof detail?.name === "string" ? detail.name : undefined;
  });
  const resized = listen(window, "resize", () => {
    if (window.innerHeight === 0 || chosen === undefined) return;
    const name = chosen;
    chosen = undefined;
    onReturn(name);
  });
  return () => {
    forget();
    resized();
  };
}
