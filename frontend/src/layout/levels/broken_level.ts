// Lays out a level in columns: each of them alone, as a small level with ports for the lines to the others.

import type { ElkNode } from "elkjs/lib/elk-api";
import type { Point, Rect } from "../../base/geometry";
import { countCrossings } from "./crossings";
import { putAbreast, type Source, type Tall } from "./columns";
import { BETWEEN_LAYERS } from "./elk_graph";
import { columnGraph, type End, type Plan } from "./level_graph";
import { leastHeight, partition, type Stacked } from "./partition";

// A level of more columns than that is higher than the page, so that it keeps a shape that can be seen from far away.
const MOST_ABREAST = 12;
const ASPECT = 1.4;

interface Column {
  readonly children: number[]; // places of boxes in the level
  readonly enters: string[]; // keys of the tensors that enter it
  readonly leaves: string[];
  readonly edges: { readonly from: string; readonly to: string; readonly id: string }[];
}

// The least height of the level in one column, without what is around its boxes.
export function leastHeightOf(plan: Plan): number {
  return leastHeight(stackedOf(plan), BETWEEN_LAYERS);
}

// undefined: the level cannot be broken. `run` lays out a column.
export function breakLevel(plan: Plan, top: number, tallest: number, run: (graph: ElkNode) => Tall): Tall | undefined {
  const { level, nodes } = plan;
  const stacked = stackedOf(plan);
  const widest = Math.max(1, ...nodes.map(({ width }) => width ?? 0));
  const most = Math.max(MOST_ABREAST, Math.round(Math.sqrt((ASPECT * leastHeight(stacked, BETWEEN_LAYERS)) / widest)));
  const place = ({ box }: End): number => (box === -1 ? -1 : plan.placeOf.get(box)!);
  const columnOf = partition(stacked, tallest - top, most);
  const count = columnOf.at(-1)! + 1;
  if (count < 2 || stacked.edges.some(([from, to]) => columnOf[from]! > columnOf[to]!)) return undefined;
  const columns = Array.from({ length: count }, (): Column => ({ children: [], enters: [], leaves: [], edges: [] }));
  columnOf.forEach((column, child) => columns[column]!.children.push(child));
  level.pieces.forEach(({ from, to }, piece) => {
    const [source, target] = [from.box === -1 ? -1 : columnOf[place(from)]!, to.box === -1 ? -1 : columnOf[place(to)]!];
    const key = keyOf(from);
    if (source === target) columns[source]?.edges.push({ from: plan.idOf(from), to: plan.idOf(to), id: `e${piece}` });
    else {
      if (source !== -1) add(columns[source]!, columns[source]!.leaves, key, `x${key}`, plan.idOf(from), `out ${key}`);
      if (target !== -1) {
        if (!columns[target]!.enters.includes(key)) columns[target]!.enters.push(key);
        columns[target]!.edges.push({ from: `in ${key}`, to: plan.idOf(to), id: `e${piece}` });
      }
    }
  });
  const lay = (low: ReadonlySet<string>): Tall => {
    orderPorts(columns, low);
    return assemble(plan, columns, columnOf, top, low, run);
  };
  const high = lay(new Set());
  const crossings = countIn(plan, high);
  if (crossings === 0) return high;
  // What skips columns on its way to a single one can go there below them.
  const low = new Set(columns.flatMap(({ leaves }, at) => leaves.filter((key) => farOf(columns, key, at).length === 1)));
  if (low.size === 0) return high;
  const lower = lay(low);
  return countIn(plan, lower) < crossings ? lower : high;
}

// The columns beyond the next one that a tensor enters.
function farOf(columns: readonly Column[], key: string, from: number): readonly number[] {
  return columns.flatMap(({ enters }, at) => (at > from + 1 && enters.includes(key) ? [at] : []));
}

function countIn({ level }: Plan, { paths }: Tall): number {
  return countCrossings(
    paths,
    level.pieces.map(({ from }) => keyOf(from)),
  );
}

function stackedOf({ level, nodes, placeOf }: Plan): Stacked {
  const edges = level.pieces.flatMap(({ from, to }) =>
    from.box === -1 || to.box === -1 ? [] : [[placeOf.get(from.box)!, placeOf.get(to.box)!] as const],
  );
  return { heights: nodes.map(({ height }) => height ?? 0), edges };
}

// Lines beside and above the columns do not cross if what comes from the nearest column enters at the
// left, and what goes to the nearest one leaves at the left.
// What comes from below the columns enters and leaves at the left of all.
function orderPorts(columns: readonly Column[], low: ReadonlySet<string>): void {
  const from = new Map(columns.flatMap(({ leaves }, at) => leaves.map((key) => [key, at] as const)));
  const to = new Map(columns.flatMap(({ enters }, at) => enters.map((key) => [key, at] as const))); // the last one
  columns.forEach(({ enters, leaves }, at) => {
    const rises = (key: string): number => Number(isLow(low, key, from.get(key), at));
    const sinks = (key: string): number => Number(low.has(key));
    enters.sort((a, b) => rises(b) - rises(a) || (from.get(b) ?? -1) - (from.get(a) ?? -1) || (to.get(a) ?? 0) - (to.get(b) ?? 0));
    leaves.sort((a, b) => sinks(b) - sinks(a) || (to.get(a) ?? Infinity) - (to.get(b) ?? Infinity));
  });
}

function isLow(low: ReadonlySet<string>, key: string, from: number | undefined, to: number): boolean {
  return low.has(key) && from !== undefined && to > from + 1;
}

function add({ edges }: Column, keys: string[], key: string, id: string, from: string, to: string): void {
  if (keys.includes(key)) return;
  keys.push(key);
  edges.push({ from, to, id });
}

function keyOf({ box, port }: End): string {
  return `${box} ${port}`;
}

function assemble(
  plan: Plan,
  columns: readonly Column[],
  columnOf: readonly number[],
  top: number,
  low: ReadonlySet<string>,
  run: (graph: ElkNode) => Tall,
): Tall {
  const { level, placeOf } = plan;
  const graphs = columns.map(({ children, enters, leaves, edges }) =>
    columnGraph(
      children.map((child) => plan.nodes[child]!),
      [...enters.map((key) => ({ id: `in ${key}`, enters: true })), ...leaves.map((key) => ({ id: `out ${key}`, enters: false }))],
      edges,
    ),
  );
  const laid = graphs.map(run);
  const pathOf = new Map(columns.flatMap(({ edges }, at) => edges.map(({ id }, edge) => [`${at} ${id}`, laid[at]!.paths[edge]!] as const)));
  const keys = [...new Set(columns.flatMap(({ enters, leaves }) => [...enters, ...leaves]))];
  const sources = keys.map((key): Source => {
    const box = Number(key.split(" ")[0]);
    const column = box === -1 ? -1 : columnOf[placeOf.get(box)!]!;
    const entries = columns.flatMap(({ enters }, at) =>
      enters.includes(key) ? [{ column: at, port: enters.indexOf(key), low: column !== -1 && isLow(low, key, column, at) }] : [],
    );
    const exit = column === -1 ? -1 : columns[column]!.enters.length + columns[column]!.leaves.indexOf(key);
    return { column, exit, entries };
  });
  const { size, offsets, starts, ways } = putAbreast(laid, sources, top);
  const least = plan.least;
  const whole = { width: Math.max(size.width, least.width), height: Math.max(size.height, least.height) };
  const shifted = (column: number, path: readonly Point[]): readonly Point[] => {
    const { x, y } = offsets[column]!;
    return path.map((point) => ({ x: point.x + x, y: point.y + y }));
  };
  const paths = level.pieces.map(({ from, to }, piece): readonly Point[] => {
    const key = keyOf(from);
    const source = from.box === -1 ? -1 : columnOf[placeOf.get(from.box)!]!;
    const target = to.box === -1 ? -1 : columnOf[placeOf.get(to.box)!]!;
    if (source === target) return shifted(source, pathOf.get(`${source} e${piece}`)!);
    const out = source === -1 ? [] : shifted(source, pathOf.get(`${source} x${key}`)!);
    if (target === -1) return [...out, { x: out.at(-1)!.x, y: whole.height }];
    const at = keys.indexOf(key);
    const way = ways[at]![sources[at]!.entries.findIndex(({ column }) => column === target)]!;
    return [...out, ...way, ...shifted(target, pathOf.get(`${target} e${piece}`)!)];
  });
  const rects: Rect[] = [];
  columns.forEach(({ children }, column) =>
    children.forEach((child, i) => {
      const { x, y } = offsets[column]!;
      const rect = laid[column]!.rects[i]!;
      rects[child] = { ...rect, x: rect.x + x, y: rect.y + y };
    }),
  );
  const ports = level.ports.map((enters, port): Point => {
    if (enters) return starts[keys.indexOf(`-1 ${port}`)] ?? { x: 0, y: 0 };
    const piece = level.pieces.findIndex(({ to }) => to.box === -1 && to.port === port);
    return paths[piece]?.at(-1) ?? { x: 0, y: whole.height };
  });
  return { size: whole, ports, rects, paths };
}
