// Lays out one level: the boxes directly in one open group, with the ports on its border.

import type { ElkNode, ElkPort, LayoutOptions } from "elkjs/lib/elk-api";
import type { Point, Rect, Size } from "../base/geometry";
import { intoColumns, type Tall } from "./columns";
import { runElk } from "./elk";
import { GROUP, pathsOf, rectOf, SPACING } from "./elk_graph";
import { TITLE_HEIGHT } from "./laid_out";
import type { LayoutRequest } from "./request";

// Where a piece of an edge starts or ends: at a box of the level, or at a port of the box. Box -1
// is the border of the level itself.
export interface End {
  readonly box: number;
  readonly port: number; // -1: anywhere on the box
}

export interface Level {
  readonly children: number[];
  readonly ports: boolean[]; // whether edges through it enter
  readonly pieces: { readonly from: End; readonly to: End }[];
}

export interface LevelLayout {
  readonly size: Size;
  readonly ports: readonly Point[];
  readonly rects: ReadonlyMap<number, Rect>; // by box
  readonly paths: readonly (readonly Point[])[]; // by piece
}

const MANY = 5;
const MUCH = 4e6;
const WORTH = 0.8;

const FIXED: LayoutOptions = { "elk.portConstraints": "FIXED_POS" };

export function layOutLevel(
  request: LayoutRequest,
  level: number,
  content: Level,
  inside: ReadonlyMap<number, LevelLayout>,
  known: Map<string, Tall>,
): LevelLayout {
  const graph = toGraph(request, level, content, inside);
  const key = JSON.stringify(graph);
  let laid = known.get(key);
  if (laid === undefined) known.set(key, (laid = intoColumns(layOutBest(graph, content), level === -1 ? 0 : TITLE_HEIGHT + 16)));
  return { ...laid, rects: new Map(content.children.map((box, i) => [box, laid.rects[i]!])) };
}

// Lines are as straight as possible. An exception: if each box had its exit next to its entry, a
// long row of boxes would drift to one side and leave most of the area empty.
function layOutBest(graph: ElkNode, content: Level): Tall {
  // ELK allows ports only on nested nodes, so a root node is put around the level.
  const run = (options: LayoutOptions): Tall => {
    const one = structuredClone({ ...graph, layoutOptions: { ...graph.layoutOptions, ...options } });
    return read(runElk({ id: "root", children: [one] }).children![0]!, content);
  };
  const straight = run({});
  if (content.children.length < MANY || areaOf(straight) < MUCH) return straight;
  const centered = run({ "elk.layered.nodePlacement.strategy": "SIMPLE" });
  return areaOf(centered) < areaOf(straight) * WORTH ? centered : straight;
}

function areaOf({ size }: Tall): number {
  return size.width * size.height;
}

function read(done: ElkNode, { pieces }: Level): Tall {
  const pathById = pathsOf(done);
  return {
    size: { width: done.width ?? 0, height: done.height ?? 0 },
    ports: (done.ports ?? []).map(({ x = 0, y = 0 }: ElkPort) => ({ x, y })),
    rects: (done.children ?? []).map(rectOf),
    paths: pieces.map((_, i) => pathById(`e${i}`)),
  };
}

// Names are based on positions in the level, so that equal levels have equal names.
function toGraph(
  request: LayoutRequest,
  level: number,
  { children, ports, pieces }: Level,
  inside: ReadonlyMap<number, LevelLayout>,
): ElkNode {
  const placeOf = new Map(children.map((box, i) => [box, i]));
  const idOf = ({ box, port }: End): string => {
    const own = box === -1 ? "" : placeOf.get(box)!;
    return port === -1 ? String(own) : `${own}p${port}`;
  };
  const nodes = children.map((box, i): ElkNode => {
    const within = inside.get(box);
    if (within === undefined) return { id: String(i), width: request.width[box]!, height: request.height[box]! };
    const { size, ports: at } = within;
    return {
      id: String(i),
      ...size,
      layoutOptions: FIXED,
      ports: at.map((point, port) => ({ id: `${i}p${port}`, width: 0, height: 0, ...point })),
    };
  });
  return {
    id: "level",
    layoutOptions: { ...SPACING, ...(level === -1 ? {} : groupOptions(request, level)) },
    ports: ports.map((enters, port) => ({
      id: `p${port}`,
      width: 0,
      height: 0,
      layoutOptions: { "elk.port.side": enters ? "NORTH" : "SOUTH" },
    })),
    children: nodes,
    edges: pieces.map(({ from, to }, i) => ({ id: `e${i}`, sources: [idOf(from)], targets: [idOf(to)] })),
  };
}

function groupOptions({ width, height }: LayoutRequest, level: number): LayoutOptions {
  return { ...GROUP, "elk.nodeSize.minimum": `(${width[level]},${height[level]})`, "elk.portConstraints": "FIXED_SIDE" };
}
