// Lays out a level whose boxes are one straight row, each below the one before it. It needs no ELK, whose
// first runs take most of the time until the first picture.

import type { ElkNode } from "elkjs/lib/elk-api";
import type { Point } from "../../base/geometry";
import type { Tall } from "./columns";
import { BETWEEN_LAYERS } from "./elk_graph";

// A row that drifts farther to one side is left to ELK.
const WIDER = 1.3;
// Without padding in the options, ELK has this.
const PADDING = 12;

// A line in forward order, between children or borders of the level.
interface Line {
  readonly from: number; // child; -1: the upper border
  readonly to: number; // child; the count of children: the lower border
  readonly port: number; // of the level; -1: none
  readonly fromX: number | undefined; // on the child, where its port is
  readonly toX: number | undefined;
}

// undefined: it is no such level.
export function layOutChain(graph: ElkNode): Tall | undefined {
  const children = graph.children ?? [];
  const lines = linesOf(graph);
  const [into, out] = [throughBorder(lines, -1, 0), throughBorder(lines, children.length - 1, children.length)];
  const between = children.slice(1).map((_, at) => lines.filter(({ from, to }) => from === at && to === at + 1));
  const isShared = new Set([...into, ...out].map(({ port }) => port)).size < into.length + out.length;
  const isChain = children.length > 0 && into.length + out.length + between.length === lines.length && !isShared;
  if (!isChain || between.some(({ length }) => length !== 1)) return undefined;

  const wide = children.map(({ width = 0 }) => width);
  const along = (all: readonly Line[], line: Line, box: number): number => (wide[box]! * (all.indexOf(line) + 1)) / (all.length + 1);
  const xs = [0];
  between.forEach(([line], at) => xs.push(xs[at]! + (line!.fromX ?? wide[at]! / 2) - (line!.toX ?? wide[at + 1]! / 2)));
  const left = Math.min(...xs);
  const span = Math.max(...xs.map((x, at) => x + wide[at]!)) - left;
  if (span > WIDER * Math.max(...wide)) return undefined;

  const { top, bottom, beside, width: leastWidth, height: leastHeight } = roomOf(graph);
  const width = Math.max(leastWidth, span + 2 * beside);
  const shift = (width - span) / 2 - left;
  let y = top;
  const rects = children.map(({ height = 0 }, at) => {
    const rect = { x: xs[at]! + shift, y, width: wide[at]!, height };
    y += height + BETWEEN_LAYERS;
    return rect;
  });
  const height = Math.max(leastHeight, y - BETWEEN_LAYERS + bottom);

  const paths = lines.map((line): readonly Point[] => {
    const { from, to, fromX, toX } = line;
    const x =
      from === -1
        ? rects[0]!.x + (toX ?? along(into, line, 0))
        : rects[from]!.x + (fromX ?? along(to === children.length ? out : [line], line, from));
    const [start, end] = [from === -1 ? 0 : rects[from]!.y + rects[from]!.height, to === children.length ? height : rects[to]!.y];
    return [
      { x, y: start },
      { x, y: end },
    ];
  });
  const xOf = (line: Line): number => paths[lines.indexOf(line)]![0]!.x;
  // In a column, the order of the lines at a border is given.
  if ([into, out].some((all) => all.some((line, at) => at > 0 && xOf(line) <= xOf(all[at - 1]!)))) return undefined;
  const ports = (graph.ports ?? []).map((_, port): Point => {
    const line = lines.findIndex((one) => one.port === port);
    return line === -1 ? { x: 0, y: 0 } : paths[line]!.at(lines[line]!.from === -1 ? 0 : -1)!;
  });
  return { size: { width, height }, ports, rects, paths };
}

function throughBorder(lines: readonly Line[], from: number, to: number): readonly Line[] {
  return lines.filter((line) => line.from === from && line.to === to).sort((a, b) => a.port - b.port);
}

function linesOf({ children = [], ports = [], edges = [] }: ElkNode): readonly Line[] {
  const portAt = new Map(ports.map(({ id }, at) => [id, at]));
  const childAt = new Map<string, { readonly child: number; readonly x: number | undefined }>();
  children.forEach((child, at) => {
    childAt.set(child.id, { child: at, x: undefined });
    for (const { id, x } of child.ports ?? []) childAt.set(id, { child: at, x });
  });
  return edges.map(({ sources, targets }): Line => {
    const [source, target] = [childAt.get(sources[0]!), childAt.get(targets[0]!)];
    return {
      from: source?.child ?? -1,
      to: target?.child ?? children.length,
      port: portAt.get(sources[0]!) ?? portAt.get(targets[0]!) ?? -1,
      fromX: source?.x,
      toX: target?.x,
    };
  });
}

interface Room {
  readonly top: number;
  readonly bottom: number;
  readonly beside: number;
  readonly width: number; // at least
  readonly height: number;
}

function roomOf({ layoutOptions = {} }: ElkNode): Room {
  const padding = layoutOptions["elk.padding"] ?? "";
  const side = (name: string): number => Number(new RegExp(`${name}=([\\d.]+)`).exec(padding)?.[1] ?? PADDING);
  const [width, height] = /\(([\d.]+),([\d.]+)\)/
    .exec(layoutOptions["elk.nodeSize.minimum"] ?? "")
    ?.slice(1)
    .map(Number) ?? [0, 0];
  return { top: side("top"), bottom: side("bottom"), beside: side("left"), width: width!, height: height! };
}
