// The part of the scene that depends on the step. Of thousands of boxes and lines, only a few are
// close enough to show text, so text is computed only when it is needed.

import { formatNumber } from "../../base/format";
import { edgeSaysNone, saysNone } from "../../model/recorded/gradient_flow";
import { halfOf, scalarOf, type RecordedStep } from "../../model/recorded/record";
import { isElementItself, type Statistic } from "../../model/recorded/statistics";
import type { Hierarchy } from "../../model/tree/hierarchy";
import type { VisibleGraph } from "../../model/visible/collapse";
import { rowsOfHalf } from "../../model/visible/line_rows";
import { State, summarizeRows, type StepValues } from "../../model/visible/values";
import { inkOn, type ColorScale } from "../style/color_scale";
import type { Theme } from "../style/theme";
import { detailOf, detailRoom, numberOf } from "./caption";
import { stripFills } from "./paint_strip";
import type { BoxPaint, EdgePaint, Paints } from "./paints";
import type { Scene } from "./scene";

interface Step {
  readonly hierarchy: Hierarchy;
  readonly visible: VisibleGraph;
  readonly scene: Scene;
  readonly scale: ColorScale;
  readonly statistic: Statistic;
  readonly theme: Theme;
  readonly values: StepValues | undefined;
  readonly record: RecordedStep | undefined;
}

export function paintScene(
  hierarchy: Hierarchy,
  visible: VisibleGraph,
  scene: Scene,
  scale: ColorScale,
  statistic: Statistic,
  theme: Theme,
  values: StepValues | undefined,
  record: RecordedStep | undefined,
): Paints {
  const step: Step = { hierarchy, visible, scene, scale, statistic, theme, values, record };
  const boxes = visible.boxes.map((box, i) => {
    const source = box.kind === "group" ? values?.groups : values?.nodes;
    const index = box.kind === "group" ? box.group : box.node;
    const state = (source?.state[index] ?? State.none) as State;
    return new BoxAtStep(step, i, state, scale.fill(source?.value[index] ?? NaN, state));
  });
  const none: EdgePaint = { state: State.none, weight: 0, label: "", told: true };
  return {
    half: halfOf(record?.stage),
    boxes,
    edges: visible.edges.map((_, i) => (values === undefined ? none : new EdgeAtStep(step, values, i))),
  };
}

class BoxAtStep implements BoxPaint {
  private written: string | undefined;
  private cells: readonly string[] | undefined;

  constructor(
    private readonly step: Step,
    private readonly at: number,
    readonly state: State,
    readonly fill: string,
  ) {}

  get ink(): string {
    return inkOn(this.fill, this.step.theme);
  }

  get detail(): string {
    const { hierarchy, visible, scene, values, record } = this.step;
    const box = scene.boxes[this.at]!;
    return (this.written ??= detailOf(hierarchy, visible.boxes[this.at]!, values, record, detailRoom(box, box.rectWorld.width)));
  }

  get told(): boolean {
    return saysNone(this.step.hierarchy.graph, this.step.visible.boxes[this.at]!.node, this.step.record);
  }

  get unread(): boolean {
    return this.state === State.none && halfOf(this.step.record?.stage) === "value";
  }

  get strip(): readonly string[] {
    const { hierarchy, scene, scale, statistic, values } = this.step;
    const { strip, rectWorld } = scene.boxes[this.at]!;
    return (this.cells ??= strip === undefined ? [] : stripFills(hierarchy, strip, rectWorld.width, scale, statistic, values));
  }
}

class EdgeAtStep implements EdgePaint {
  private readonly rows: readonly number[];
  private readonly value: number;
  readonly state: State;

  constructor(
    private readonly step: Step,
    { rows }: StepValues,
    private readonly at: number,
  ) {
    const half = halfOf(step.record?.stage);
    this.rows = rowsOfHalf(step.hierarchy.graph, step.visible.edges[at]!, half, (row) => rows.state[row] !== State.none);
    ({ value: this.value, state: this.state } = summarizeRows(rows, this.rows, step.statistic));
  }

  get weight(): number {
    return this.state === State.number ? this.step.scale.position(this.value) : 0;
  }

  get told(): boolean {
    const { hierarchy, visible, record } = this.step;
    return visible.edges[this.at]!.edges.some((edge) => edgeSaysNone(hierarchy.graph, edge, record));
  }

  // One rule for edges: they show the chosen statistic. If there is only one element, they show the element itself, with its sign.
  get label(): string {
    const { statistic, record } = this.step;
    const whole = this.rows.length === 1 && isElementItself(statistic) ? record?.whole.get(this.rows[0]!) : undefined;
    const only = scalarOf(whole?.[halfOf(record?.stage)]);
    return only !== undefined ? formatNumber(only) : (numberOf(this.value, this.state) ?? "");
  }
}
