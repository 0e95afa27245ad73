// One level as a graph for ELK: the boxes directly in one open group, with the ports on its border.

import type { ElkNode, ElkPort, LayoutOptions } from "elkjs/lib/elk-api";
import type { Point, Rect, Size } from "../../base/geometry";
import type { Tall } from "./columns";
import { runElk } from "./elk";
import { groupOptions, pathsOf, rectOf, SPACING } from "./elk_graph";
import type { LayoutRequest } from "../places/request";

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

// A level with what its graphs need. Names are based on positions in the level, so that equal
// levels have equal names.
export interface Plan {
  readonly level: Level;
  readonly nodes: readonly ElkNode[]; // of its children
  readonly placeOf: ReadonlyMap<number, number>; // of each box among the children
  readonly least: Size;
  idOf(end: End): string;
}

interface PortOf {
  readonly id: string;
  readonly enters: boolean;
}

interface EdgeOf {
  readonly id: string;
  readonly from: string;
  readonly to: string;
}

const FIXED: LayoutOptions = { "elk.portConstraints": "FIXED_POS" };

export function planOf(request: LayoutRequest, number: number, level: Level, inside: ReadonlyMap<number, LevelLayout>): Plan {
  const placeOf = new Map(level.children.map((box, i) => [box, i]));
  return {
    level,
    placeOf,
    nodes: level.children.map((box, i) => nodeOf(request, box, i, inside.get(box))),
    least: number === -1 ? { width: 0, height: 0 } : { width: request.width[number]!, height: request.height[number]! },
    idOf: ({ box, port }) => {
      const own = box === -1 ? "" : placeOf.get(box)!;
      return port === -1 ? String(own) : `${own}p${port}`;
    },
  };
}

function nodeOf({ width, height }: LayoutRequest, box: number, place: number, within: LevelLayout | undefined): ElkNode {
  if (within === undefined) return { id: String(place), width: width[box]!, height: height[box]! };
  const { size, ports } = within;
  return {
    id: String(place),
    ...size,
    layoutOptions: FIXED,
    ports: ports.map((point, port) => ({ id: `${place}p${port}`, width: 0, height: 0, ...point })),
  };
}

export function wholeGraph({ level, nodes, least, idOf }: Plan, isRoot: boolean): ElkNode {
  const { width, height } = least;
  const group = { ...groupOptions(level.children.length), "elk.nodeSize.minimum": `(${width},${height})` };
  return graphOf(
    nodes,
    level.ports.map((enters, port) => ({ id: `p${port}`, enters })),
    level.pieces.map(({ from, to }, i) => ({ id: `e${i}`, from: idOf(from), to: idOf(to) })),
    isRoot ? {} : group,
  );
}

export function columnGraph(nodes: readonly ElkNode[], ports: readonly PortOf[], edges: readonly EdgeOf[]): ElkNode {
  const graph = graphOf(nodes, ports, edges, { "elk.padding": "[top=0,left=0,bottom=0,right=0]" });
  if (ports.length === 0) return graph;
  // ELK counts clockwise: from the left at the top, from the right at the bottom.
  (graph.ports ?? []).forEach((port, at) => {
    port.layoutOptions = { ...port.layoutOptions, "elk.port.index": String(ports[at]!.enters ? at : 2 * ports.length - at) };
  });
  return { ...graph, layoutOptions: { ...graph.layoutOptions, "elk.portConstraints": "FIXED_ORDER" } };
}

function graphOf(nodes: readonly ElkNode[], ports: readonly PortOf[], edges: readonly EdgeOf[], options: LayoutOptions): ElkNode {
  return {
    id: "level",
    layoutOptions: { ...SPACING, ...options, ...(ports.length === 0 ? {} : { "elk.portConstraints": "FIXED_SIDE" }) },
    ports: ports.map(({ id, enters }) => ({ id, width: 0, height: 0, layoutOptions: { "elk.port.side": enters ? "NORTH" : "SOUTH" } })),
    children: [...nodes],
    edges: edges.map(({ id, from, to }) => ({ id, sources: [from], targets: [to] })),
  };
}

// ELK allows ports only on nested nodes, so a root node is put around the level. It is not laid out itself.
const AROUND: LayoutOptions = { "elk.algorithm": "fixed" };

export function runLevel(graph: ElkNode, options: LayoutOptions = {}): Tall {
  const one = structuredClone({ ...graph, layoutOptions: { ...graph.layoutOptions, ...options } });
  const done = runElk({ id: "root", layoutOptions: AROUND, children: [one] }).children![0]!;
  const pathById = pathsOf(done);
  return {
    size: { width: done.width ?? 0, height: done.height ?? 0 },
    ports: (done.ports ?? []).map(({ x = 0, y = 0 }: ElkPort) => ({ x, y })),
    rects: (done.children ?? []).map(rectOf),
    paths: (graph.edges ?? []).map(({ id }) => pathById(id)),
  };
}
