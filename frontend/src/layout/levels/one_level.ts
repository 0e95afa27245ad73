// Lays out one level, in one column or in several.

import type { ElkNode } from "elkjs/lib/elk-api";
import { breakLevel, leastHeightOf } from "./broken_level";
import { layOutChain } from "./chain_level";
import type { Tall } from "./columns";
import { TITLE_HEIGHT } from "../places/laid_out";
import { planOf, runLevel, wholeGraph, type Level, type LevelLayout, type Plan } from "./level_graph";
import type { LayoutRequest } from "../places/request";

const MANY = 5;
const MUCH = 4e6;
const WORTH = 0.8;
// What a frame needs above and below its contents.
const AROUND = 54;
const TOP = TITLE_HEIGHT + 2;
// A level may be a little higher than the page, rather than that it is broken.
const NEARLY = 1.06;
const FEW = 60;

// Without a page, a level is too slender if it is this many times as high as wide, and at least this high.
const SLENDER = 3;
const HIGH = 2500;
const ASPECT = 1.4;

export function layOutLevel(
  request: LayoutRequest,
  number: number,
  level: Level,
  inside: ReadonlyMap<number, LevelLayout>,
  known: Map<string, Tall>,
): LevelLayout {
  const plan = planOf(request, number, level, inside);
  const graph = wholeGraph(plan, number === -1);
  const page = tallestAt(request, number);
  const key = `${page} ${JSON.stringify(graph)}`;
  let laid = known.get(key);
  if (laid === undefined) {
    laid = layOutPlan(plan, graph, number === -1, page);
    known.set(key, laid);
  }
  return { ...laid, rects: new Map(level.children.map((box, i) => [box, laid.rects[i]!])) };
}

// A level that is too high for one column in any case is not laid out in one, unless it cannot be broken.
function layOutPlan(plan: Plan, graph: ElkNode, isRoot: boolean, page: number): Tall {
  const run = onceEach(layOutBest);
  const isTooHigh = page !== 0 && leastHeightOf(plan) > page * NEARLY;
  const whole = isTooHigh ? undefined : run(graph);
  const tallest = whole !== undefined && page === 0 ? tallestOfSlender(whole) : page;
  if (whole !== undefined && whole.size.height <= tallest * NEARLY) return whole;
  return broken(plan, isRoot ? 0 : TOP, tallest, run) ?? whole ?? run(graph);
}

// The heights of columns are estimated before they are laid out. If they are too high, it is tried again.
function broken(plan: Plan, top: number, tallest: number, run: (graph: ElkNode) => Tall): Tall | undefined {
  const first = breakLevel(plan, top, tallest, run);
  if (first === undefined) return undefined;
  const over = first.size.height - tallest;
  if (over < (NEARLY - 1) * tallest || plan.nodes.length > FEW) return first;
  const again = breakLevel(plan, top, Math.max(tallest / 2, tallest - over), run);
  return again !== undefined && again.size.height < first.size.height ? again : first;
}

// Columns that both tries have are laid out once.
function onceEach(run: (graph: ElkNode) => Tall): (graph: ElkNode) => Tall {
  const done = new Map<string, Tall>();
  return (graph) => {
    const key = JSON.stringify(graph);
    const tall = done.get(key) ?? run(graph);
    done.set(key, tall);
    return tall;
  };
}

// A group has the room that the groups around it leave.
function tallestAt({ tallest, depth }: LayoutRequest, level: number): number {
  return tallest === 0 ? 0 : Math.max(tallest / 2, tallest - (level === -1 ? 0 : AROUND * (depth[level]! + 1)));
}

function tallestOfSlender({ size: { width, height } }: Tall): number {
  return height < HIGH || height < SLENDER * width ? Infinity : Math.sqrt(ASPECT * height * width);
}

// Lines are as straight as possible. An exception: if each box had its exit next to its entry, a
// long row of boxes would drift to one side and leave most of the area empty.
function layOutBest(graph: ElkNode): Tall {
  const chain = layOutChain(graph);
  if (chain !== undefined) return chain;
  const straight = runLevel(graph);
  if (graph.children!.length < MANY || areaOf(straight) < MUCH) return straight;
  const centered = runLevel(graph, { "elk.layered.nodePlacement.strategy": "SIMPLE" });
  return areaOf(centered) < areaOf(straight) * WORTH ? centered : straight;
}

function areaOf({ size }: Tall): number {
  return size.width * size.height;
}
