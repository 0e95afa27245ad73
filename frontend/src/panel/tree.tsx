// The drawing as a tree for screen readers, keyboards and tests, under the canvas.
//
// Every visible box is one `li[role=treeitem]`, nested as the groups are; copies
// of one node appear once. Attributes, all text:
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
//   data-rect        x,y,width,height, world; screen = world * k + (x, y) with
//                    x,y,k in data-camera of the canvas
//   aria-expanded (groups), aria-selected, aria-level, tabindex
// After it, `ul[data-testid=edges]` has one li an edge: data-source, data-target
// (keys), data-label as drawn, data-grad (the edge's own number), data-shape, data-cut; where a
// chain of operations is folded into it data-folded (their names) and data-mark (x,y of the mark, world).
// data-lit of the canvas: keys of the boxes that light up, one a line.
// Other data-testid: run tag hash statistic direction direction-forward
// direction-backward expand-all collapse-all fit zoom-in zoom-out; step slider
// play first previous next last pass step-count bad-steps; legend card chart histogram
// log-scale shares statistics note why marks namesakes compare compare-bar vs-run vs-tag vs-step-kind vs-step vs-slider
// vs-reach vs-swap vs-close differences only-there only-here compared profile profile-chart
// profile-key profile-ends shares-chart shares-key chart-key histogram-strip pin pin-all
// turn-uses ghost show-there show-charts charts charts-lines charts-of charts-log smoothing over-run unpin whole-value whole-gradient left-out slot find found find-place find-next find-previous findings finding-list findings-elsewhere more-findings help help-text edge-share edge-shares; empty nothing-recorded error retry loading notice
// warnings no-gradients canvas minimap breadcrumbs tree.

import { useLayoutEffect, useRef } from "preact/hooks";
import type { JSX, RefObject } from "preact";
import { plainNumber } from "../base/format";
import { scalarsOf } from "../draw/caption";
import type { Paints } from "../draw/scene";
import type { Box } from "../model/collapse";
import { Relation } from "../model/comparison";
import { State } from "../model/values";
import { toggleGroup } from "../state/actions";
import type { Store } from "../state/store";
import { relateBox } from "../draw/compared_scene";
import { plainRatio } from "./compared_number";
import { keyOf, type Drawing, type Drawn } from "./drawing";
import { edgeItems } from "./edge_list";

const STATE_NAMES = ["none", "unknown", "zero", "number", "nonfinite"];

interface TreeProps {
  readonly store: Store;
  readonly drawn: Drawn;
  readonly paints: Paints;
}

export function Tree({ store, drawing }: { readonly store: Store; readonly drawing: Drawing }): JSX.Element | null {
  const drawn = drawing.drawn.value;
  const paints = drawing.paints.value;
  const tree = useKeptFocus(drawn);
  if (drawn === undefined || paints === undefined || paints.boxes.length !== drawn.scene.boxes.length) return null;
  const children = childrenOf(drawn);
  const props = { store, drawn, paints };
  return (
    <div class="visually-hidden">
      <ul role="tree" aria-label="Nodes of the graph" data-testid="tree" ref={tree} onKeyDown={(event) => moveFocus(event)}>
        {items(props, children, -1)}
      </ul>
      <ul data-testid="edges" aria-label="Edges of the graph">{edgeItems(store, drawn, paints)}</ul>
    </div>
  );
}

// A fold may take the focused item away: then what stands for it, or holds it, has the focus.
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

function childrenOf({ visible }: Drawn): ReadonlyMap<number, readonly number[]> {
  const children = new Map<number, number[]>();
  visible.boxes.forEach((box, index) => {
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
      <li key={props.drawn.visible.boxes[index]!.id} role="treeitem" tabIndex={index === 0 ? 0 : -1} {...attributes(props, index)}
        onClick={(event) => act(event, () => (props.store.selected.value = keyOf(props.drawn, index)))}
        onDblClick={(event) => act(event, () => toggleGroup(props.store, keyOf(props.drawn, index)))}
        onBlur={(event) => act(event, () => (props.store.hovered.value = props.store.focused.value = undefined))}
        onFocus={(event) => act(event, () => (props.store.hovered.value = props.store.focused.value = props.drawn.visible.boxes[index]!.id))}>
        <span>{spoken(props, index)}</span>
        {inner && <ul role="group">{items(props, children, index)}</ul>}
      </li>
    );
  });
}

// An item's events are not its surrounding group's.
function act(event: Event, action: () => void): void {
  event.stopPropagation();
  action();
}

function attributes({ store, drawn, paints }: TreeProps, index: number): Record<string, string | number | boolean | undefined> {
  const box = drawn.visible.boxes[index]!;
  const { fill, state, detail } = paints.boxes[index]!;
  const { nodes } = drawn.hierarchy.graph.columns;
  const scalars = box.node === -1 ? undefined : scalarsOf(drawn.hierarchy.graph, store.record.value, box.node);
  const { x, y, width, height } = drawn.scene.boxes[index]!.rectWorld;
  return {
    "data-key": keyOf(drawn, index),
    "data-name": drawn.scene.boxes[index]!.title,
    "data-kind": box.node === -1 ? "group" : nodes.kind[box.node],
    "data-operation": box.node === -1 ? undefined : nodes.operation[box.node],
    "data-inside": box.group === -1 ? undefined : drawn.hierarchy.nodesInside[box.group],
    "data-state": STATE_NAMES[state],
    "data-detail": detail,
    "data-leaf": box.node === -1 ? undefined : nodes.is_leaf[box.node] === true,
    "data-retains": drawn.scene.boxes[index]!.retains,
    "data-order": drawn.scene.boxes[index]!.order,
    "data-color": fill,
    "data-value": valueOf(store, box),
    ...comparedOf(store, box),
    "data-grad": scalars?.gradient === undefined ? undefined : plainNumber(scalars.gradient),
    "data-whole-value": scalars?.value === undefined ? undefined : plainNumber(scalars.value),
    "data-rect": [x, y, width, height].map((part) => Math.round(part)).join(),
    "aria-expanded": box.group === -1 ? undefined : box.open ? "true" : "false",
    "aria-selected": store.selected.value === keyOf(drawn, index) ? "true" : "false",
    "aria-level": box.depth + 1,
  };
}

function valueOf(store: Store, box: Box): string {
  const values = box.node === -1 ? store.values.value?.groups : store.values.value?.nodes;
  const at = box.node === -1 ? box.group : box.node;
  if (values === undefined || values.state[at] === State.none) return "none";
  return plainNumber(values.value[at]!);
}

function comparedOf(store: Store, box: Box): Record<string, string> {
  const comparison = store.compare.comparison.value;
  if (comparison === undefined) return {};
  const related = relateBox(comparison, box);
  return { "data-there": plainNumber(related.there), "data-ratio": plainRatio(related), "data-only": String(related.relation === Relation.onlyHere), "data-ghost": String(related.relation === Relation.onlyThere) };
}

function spoken({ drawn, paints }: TreeProps, index: number): string {
  const { title, subtitle, shape } = drawn.scene.boxes[index]!;
  const kind = shape === "frame" ? "group" : shape;
  return [title, subtitle, kind, paints.boxes[index]!.detail].filter((part) => part !== "").join(", ");
}

// Up and down move through the tree in reading order, as in any tree.
function moveFocus(event: KeyboardEvent): void {
  const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (by === 0 || !(event.currentTarget instanceof HTMLElement)) return;
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>("[role=treeitem]")];
  const next = all[all.indexOf(document.activeElement as HTMLElement) + by];
  next?.focus();
  event.preventDefault();
}
