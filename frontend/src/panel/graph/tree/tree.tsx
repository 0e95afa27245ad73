// The drawing as a tree for screen readers, keyboards and tests, under the canvas.
//
// Every visible box is one `li[role=treeitem]`, nested as the groups are; copies
// of one node appear once. With more than 500 boxes only a part is there: around the selection, moving with
// the arrow keys. data-boxes and data-from of the tree say how many boxes there are and where the part starts.
// What a step changes is written into the existing items. Attributes, all text:
//   data-key         node key, or id of the group ("lin#2")
//   data-name        title on the box        data-kind    operation, parameter, ... or group
//   data-operation   autograd's name         data-inside  nodes inside a group
//   data-state       none, unknown, zero, number or nonfinite
//   data-color       fill as #rrggbb         data-value   statistic, "none" without a gradient
//   data-grad, data-whole-value              gradient and value of a tensor of one element
//   data-detail      second line of the box
//   data-there, data-ratio, data-only        while comparing: the number there, here / there, no such node there
//   data-ghost       while comparing: such a node there, none here
//   data-leaf, data-retains, data-order      as torch has it; order 2: made by a backward
//   data-within      key of the operation in whose box it is a row
//   data-rect        x,y,width,height, world; screen = world * k + (x, y) with
//                    x,y,k in data-camera of the canvas
//   aria-expanded (groups), aria-selected, aria-level, tabindex
// After it, `ul[data-testid=edges]` has one li per edge: data-source, data-target
// (keys), data-label as drawn, data-grad (the edge's own number, forward the value's), data-shape, data-cut; where a
// chain of operations is folded into it data-folded (their names) and data-mark (x,y of the mark, world).
// data-lit of the canvas: keys of the boxes that light up, one per line.

import { effect, useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { JSX, RefObject } from "preact";
import { plainNumber } from "../../../base/format";
import { relateBox } from "../../../draw/compare/compared_scene";
import { scalarsOf } from "../../../draw/scene/caption";
import type { BoxPaint } from "../../../draw/scene/paints";
import { Relation } from "../../../model/compare/comparison";
import type { Box } from "../../../model/visible/collapse";
import { State } from "../../../model/visible/values";
import { toggleGroup } from "../../../state/actions";
import type { Store } from "../../../state/store";
import { plainRatio } from "../../controls/compared_number";
import { keyOf, type Drawing, type Drawn } from "../../session/drawing";
import { EDGE_CHANGING, edgeChanging, edgeItems } from "./edge_list";
import { rewriter, type Changing } from "./rewrite";

const STATE_NAMES = ["none", "unknown", "zero", "number", "nonfinite"];
const MOST_ITEMS = 500;

interface TreeProps {
  readonly store: Store;
  readonly drawn: Drawn;
}

export function Tree({ store, drawing }: { readonly store: Store; readonly drawing: Drawing }): JSX.Element | null {
  const drawn = drawing.drawn.value;
  const from = useSignal(0);
  const selected = drawn?.scene.indexOf.get(store.shown.selected.value ?? "");
  useLayoutEffect(() => {
    if (drawn !== undefined) from.value = partAround(drawn.scene.boxes.length, selected ?? from.peek(), from.peek());
  }, [drawn, selected]);
  const tree = useKeptFocus(drawn);
  const edges = useRef<HTMLUListElement>(null);
  const start = from.value;
  useLayoutEffect(() => {
    if (drawn === undefined) return undefined;
    const [writeItems, writeLines] = [rewriter(tree.current, "[role=treeitem]", CHANGING), rewriter(edges.current, "li", EDGE_CHANGING)];
    return effect(() => {
      const paints = drawing.paints.value;
      if (paints === undefined || drawing.drawn.peek() !== drawn || paints.boxes.length !== drawn.scene.boxes.length) return;
      writeItems((box) => changing(store, drawn, paints.boxes[box]!, box));
      writeLines((line) => edgeChanging(store, drawn, paints.edges[line]!, line));
    });
  }, [drawn, start]);
  if (drawn === undefined) return null;
  const isShown = (box: number): boolean => box >= start && box < start + MOST_ITEMS;
  return (
    <div class="visually-hidden aside">
      <ul
        role="tree"
        aria-label="Nodes of the graph"
        data-testid="tree"
        data-boxes={drawn.scene.boxes.length}
        data-from={start}
        ref={tree}
        onKeyDown={(event) =>
          moveFocus(event, (by) => (from.value = partAround(drawn.scene.boxes.length, from.value + (by > 0 ? MOST_ITEMS : -1), from.value)))
        }
      >
        {items({ store, drawn }, childrenOf(drawn, isShown, start), -1)}
      </ul>
      <ul data-testid="edges" aria-label="Edges of the graph" ref={edges}>
        {edgeItems(drawn, isShown)}
      </ul>
    </div>
  );
}

// The start of the part that contains an item. The part does not change while the item is in it.
function partAround(boxes: number, item: number, start: number): number {
  const last = Math.max(0, boxes - MOST_ITEMS);
  return item >= start && item < start + MOST_ITEMS ? Math.min(start, last) : Math.max(0, Math.min(last, item - MOST_ITEMS / 2));
}

// A fold may remove the focused item. Then the item that represents or contains it gets the focus.
function useKeptFocus(drawn: Drawn | undefined): RefObject<HTMLUListElement | null> {
  const tree = useRef<HTMLUListElement>(null);
  const focused = document.activeElement;
  const key = focused instanceof HTMLElement && tree.current?.contains(focused) === true ? focused.dataset.key : undefined;
  useLayoutEffect(() => {
    if (key === undefined || tree.current?.contains(document.activeElement) === true) return;
    const all = [...(tree.current?.querySelectorAll<HTMLElement>("[role=treeitem]") ?? [])];
    const named = all.find((item) => item.dataset.key === key) ?? all.find((item) => item.dataset.key!.startsWith(`${key}/`)) ?? all[0];
    named?.focus();
  }, [drawn]);
  return tree;
}

// This includes the groups around the part, which come before it.
function childrenOf({ visible }: Drawn, isShown: (box: number) => boolean, start: number): ReadonlyMap<number, readonly number[]> {
  const children = new Map<number, number[]>();
  const around = new Set<number>();
  for (let box = visible.boxes[start]?.parent ?? -1; box !== -1; box = visible.boxes[box]!.parent) around.add(box);
  visible.boxes.forEach((box, index) => {
    if (!isShown(index) && !around.has(index)) return;
    if (box.node !== -1 && visible.boxOfNode[box.node] !== index && visible.boxOfNode[box.node] !== -1) return;
    const known = children.get(box.parent);
    if (known === undefined) children.set(box.parent, [index]);
    else known.push(index);
  });
  return children;
}

function items(props: TreeProps, children: ReadonlyMap<number, readonly number[]>, parent: number): readonly JSX.Element[] {
  return (children.get(parent) ?? []).map((index) => {
    const inner = children.get(index);
    return (
      <li
        key={props.drawn.visible.boxes[index]!.id}
        role="treeitem"
        tabIndex={index === 0 ? 0 : -1}
        {...attributes(props, index)}
        onClick={(event) => act(event, () => (props.store.shown.selected.value = keyOf(props.drawn, index)))}
        onDblClick={(event) => act(event, () => toggleGroup(props.store, keyOf(props.drawn, index)))}
        onBlur={(event) => act(event, () => (props.store.graph.hovered.value = props.store.graph.focused.value = undefined))}
        onFocus={(event) =>
          act(event, () => (props.store.graph.hovered.value = props.store.graph.focused.value = props.drawn.visible.boxes[index]!.id))
        }
      >
        <span></span>
        {inner && <ul role="group">{items(props, children, index)}</ul>}
      </li>
    );
  });
}

// An item's events must not reach its surrounding group.
function act(event: Event, action: () => void): void {
  event.stopPropagation();
  action();
}

function attributes({ store, drawn }: TreeProps, index: number): Record<string, string | number | boolean | undefined> {
  const box = drawn.visible.boxes[index]!;
  const { nodes } = drawn.hierarchy.graph.columns;
  const { x, y, width, height } = drawn.scene.boxes[index]!.rectWorld;
  return {
    "data-at": index,
    "data-key": keyOf(drawn, index),
    "data-name": drawn.scene.boxes[index]!.title,
    "data-kind": box.node === -1 ? "group" : nodes.kind[box.node],
    "data-operation": box.node === -1 ? undefined : nodes.operation[box.node],
    "data-inside": box.group === -1 ? undefined : drawn.hierarchy.nodesInside[box.group],
    "data-leaf": box.node === -1 ? undefined : nodes.is_leaf[box.node] === true,
    "data-retains": drawn.scene.boxes[index]!.retains,
    "data-order": drawn.scene.boxes[index]!.order,
    "data-within": drawn.visible.holder[index] === -1 ? undefined : keyOf(drawn, drawn.visible.holder[index]!),
    "data-rect": [x, y, width, height].map((part) => Math.round(part)).join(),
    "aria-expanded": box.group === -1 ? undefined : box.open ? "true" : "false",
    "aria-selected": store.shown.selected.value === keyOf(drawn, index) ? "true" : "false",
    "aria-level": box.depth + 1,
  };
}

const CHANGING = [
  "data-state",
  "data-detail",
  "data-color",
  "data-value",
  "data-grad",
  "data-whole-value",
  "data-there",
  "data-ratio",
  "data-only",
  "data-ghost",
];

function changing(store: Store, drawn: Drawn, { fill, state, detail }: BoxPaint, index: number): Changing {
  const box = drawn.visible.boxes[index]!;
  const { title, subtitle, shape } = drawn.scene.boxes[index]!;
  const scalars = box.node === -1 ? undefined : scalarsOf(drawn.hierarchy.graph, store.recorded.record.value, box.node);
  const plain = (value: number | undefined): string | undefined => (value === undefined ? undefined : plainNumber(value));
  const spoken = [title, subtitle, shape === "frame" ? "group" : shape, detail].filter((part) => part !== "").join(", ");
  return [
    STATE_NAMES[state],
    detail,
    fill,
    valueOf(store, box),
    plain(scalars?.gradient),
    plain(scalars?.value),
    ...comparedOf(store, box),
    spoken,
  ];
}

function valueOf(store: Store, box: Box): string {
  const values = box.node === -1 ? store.shown.values.value?.groups : store.shown.values.value?.nodes;
  const at = box.node === -1 ? box.group : box.node;
  if (values === undefined || values.state[at] === State.none) return "none";
  return plainNumber(values.value[at]!);
}

const NOT_COMPARED: Changing = [undefined, undefined, undefined, undefined];

function comparedOf(store: Store, box: Box): Changing {
  const comparison = store.compare.comparison.value;
  if (comparison === undefined) return NOT_COMPARED;
  const related = relateBox(comparison, box);
  return [
    plainNumber(related.there),
    plainRatio(related),
    String(related.relation === Relation.onlyHere),
    String(related.relation === Relation.onlyThere),
  ];
}

// Up and down move through the tree in reading order, as in any tree.
function moveFocus(event: KeyboardEvent, moveOn: (by: number) => void): void {
  const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  const tree = event.currentTarget;
  if (by === 0 || !(tree instanceof HTMLElement)) return;
  const next = (): HTMLElement | undefined => {
    const all = [...tree.querySelectorAll<HTMLElement>("[role=treeitem]")];
    return all[all.indexOf(document.activeElement as HTMLElement) + by];
  };
  const item = next();
  if (item === undefined) {
    moveOn(by);
    requestAnimationFrame(() => next()?.focus());
  }
  item?.focus();
  event.preventDefault();
}
