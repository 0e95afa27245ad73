// Determines how boxes and lines look while two records are compared.

import { Relation, relateCells, relateGroup, relateLine, relateNode, type Comparison, type Related } from "../../model/compare/comparison";
import { saysNone } from "../../model/recorded/gradient_flow";
import { halfOf, type RecordedStep } from "../../model/recorded/record";
import type { Hierarchy } from "../../model/tree/hierarchy";
import type { Box, VisibleGraph } from "../../model/visible/collapse";
import { State } from "../../model/visible/values";
import { detailRoom, headRoom, valueText } from "../scene/caption";
import { cellCount } from "../scene/paint_strip";
import type { BoxPaint, EdgePaint, Paints } from "../scene/paints";
import type { Scene } from "../scene/scene";
import { inkOn, type ColorScale } from "../style/color_scale";
import { DETAIL_FONT, widthOf } from "../style/text";
import type { Theme } from "../style/theme";
import { isZeroBeside, ratioText, relatedFill } from "./ratio_scale";

const UNLABELED: ReadonlySet<Relation> = new Set([Relation.onlyHere, Relation.onlyThere, Relation.unknown]);

// On one side at least. A value that was not read is dotted, as where nothing is compared.
const UNREAD: ReadonlySet<Relation> = new Set([Relation.none, Relation.numberHere, Relation.numberThere]);

export function relateBox(comparison: Comparison, box: Box): Related {
  return box.kind === "group" ? relateGroup(comparison, box.group) : relateNode(comparison, box.node);
}

export function paintCompared(
  hierarchy: Hierarchy,
  visible: VisibleGraph,
  scene: Scene,
  comparison: Comparison,
  record: RecordedStep | undefined,
  scale: ColorScale,
  reach: number,
  theme: Theme,
): Paints {
  const ofValues = halfOf(record?.stage) === "value";
  const boxes = visible.boxes.map((box, i): BoxPaint => {
    const sceneBox = scene.boxes[i]!;
    const { rectWorld, strip } = sceneBox;
    const related = relateBox(comparison, box);
    const fill = relatedFill(related, reach, theme);
    const detail = detailOf(
      comparison,
      box,
      related,
      box.open ? headRoom(sceneBox, rectWorld.width) : detailRoom(sceneBox, rectWorld.width),
    );
    const [only, ghost] = [related.relation === Relation.onlyHere, related.relation === Relation.onlyThere];
    const cells = strip === undefined ? [] : relateCells(hierarchy, comparison, strip, cellCount(strip, rectWorld.width));
    // Nodes that cannot be compared are hatched.
    const state = stateOf(related);
    const zero = isZeroBeside(related);
    return {
      fill,
      ink: ghost ? theme.inkSoft : inkOn(zero ? theme.zero : fill, theme),
      state,
      detail,
      ghost,
      zero,
      only,
      unread: ofValues && UNREAD.has(related.relation),
      told:
        !ghost &&
        !(ofValues && UNREAD.has(related.relation)) &&
        (only || related.relation !== Relation.none || saysNone(hierarchy.graph, box.node, record)),
      strip: cells.map((cell) => relatedFill(cell, reach, theme)),
      zeros: cells.map(isZeroBeside),
    };
  });
  const edges = visible.edges.map((line): EdgePaint => {
    const related = relateLine(comparison, hierarchy.graph, line);
    const state = stateOf(related);
    const weight = state === State.number ? scale.position(related.here) : 0;
    return {
      state,
      weight,
      told: (related.relation === Relation.none && !ofValues) || related.relation === Relation.onlyThere,
      label: UNLABELED.has(related.relation) ? "" : (ratioText(related) ?? ""),
    };
  });
  return { boxes, edges, half: halfOf(record?.stage) };
}

function stateOf({ relation }: Related): State {
  if (relation === Relation.both) return State.number;
  if (relation === Relation.nonfinite) return State.nonfinite;
  return relation === Relation.unknown ? State.unknown : State.none;
}

// The longest text that fits: the number here, and how many nodes of a module exist only there.
function detailOf({ first: { joined }, here }: Comparison, box: Box, related: Related, room: number): string {
  const ratio = ratioText(related) ?? "";
  const parts = (texts: readonly (string | undefined)[]): string => texts.filter((text) => text !== undefined && text !== "").join(" · ");
  const group = box.kind === "group";
  const [source, at] = group ? [here.groups, box.group] : [here.nodes, box.node];
  const number = related.relation === Relation.both ? valueText(source.value[at]!, source.state[at]! as State) : undefined;
  const there = Number.isNaN(related.there) ? undefined : valueText(related.there, State.number);
  if (related.relation === Relation.onlyThere)
    return [parts([ratio, there]), ratio].find((text) => widthOf(text, DETAIL_FONT) <= room) ?? "";
  const missing = group ? joined.missing[box.group]! : 0;
  const more = missing === 0 ? "" : `${missing} only there`;
  const choices = [
    parts([ratio, number && (group ? `${here.groupWord} ${number}` : number), more]),
    parts([ratio, more]),
    parts([ratio, number]),
    ratio,
  ];
  // A module's name has priority over its number, which its swatch and its card show too.
  return choices.find((text) => widthOf(text, DETAIL_FONT) <= room) ?? (box.open ? "" : ratio);
}
