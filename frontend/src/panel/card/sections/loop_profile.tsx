// The gradient along a loop at the step: it shows where over the calls the gradient vanishes or explodes.

import { useMemo, useState } from "preact/hooks";
import type { JSX } from "preact";
import { formatNumber, plainNumber } from "../../../base/format";
import type { ChartLine } from "../../../draw/charts/chart_line";
import { lineColor } from "../../../draw/style/line_colors";
import { loopOfCalls, loopOfGroup, loopOfNode, profileOf, type Loop } from "../../../model/charts/profile";
import { operationLabel } from "../../../model/recorded/labels";
import type { Half } from "../../../model/recorded/record";
import { Chart } from "../../chart/chart";
import { ChartKey } from "../../chart/chart_key";
import { Section } from "../../controls/section";
import type { CardProps } from "./card_parts";

const WORDS = { calls: "call", blocks: "block", repetitions: "repetition" } as const;

type LoopProps = Pick<CardProps, "session" | "drawing" | "hierarchy" | "select"> & { readonly node?: number; readonly group?: number };

export function LoopProfile(props: LoopProps): JSX.Element | null {
  const { hierarchy, node = -1, group = -1 } = props;
  const loop = useMemo(() => (group === -1 ? loopOfNode(hierarchy, node) : loopOfGroup(hierarchy, group)), [hierarchy, node, group]);
  const { shown, recorded } = props.session.store;
  if (loop === undefined || shown.values.value === undefined || recorded.hierarchy.value !== hierarchy) return null;
  return <Profile {...props} loop={loop} />;
}

function Profile({
  session: { store },
  drawing,
  hierarchy,
  select,
  loop,
  node = -1,
  group = -1,
}: LoopProps & { readonly loop: Loop }): JSX.Element | null {
  const [pointed, pointAt] = useState<number | undefined>(undefined);
  const [linear, setLinear] = useState(false);
  const statistic = store.shown.statistic.value;
  const theme = drawing.theme.value;
  const values = profileOf(hierarchy, loop, store.shown.values.value!.nodes, statistic);
  const lines: ChartLine[] = [
    { id: "here", label: "here", color: lineColor(0, theme), steps: loop.indices, values },
    ...thereOf(store, loop, node, lineColor(1, theme)),
  ];
  if (values.every((value) => value === null)) return null;
  const word = WORDS[loop.what];
  const canBeLog = statistic.scale === "log" && values.some((value) => value !== null && value !== 0);
  const log = canBeLog && !linear && !statistic.signed;
  const own = loop.ids.indexOf(group === -1 ? hierarchy.graph.columns.nodes.key[node]! : hierarchy.groups[group]!.id);
  const name = loop.what === "repetitions" ? operationLabel(loop.name) : loop.name || "the model";
  return (
    <Section
      title={`${store.shown.half.value === "value" ? "Value, " : ""}${statistic.label} along the ${loop.indices.length} ${loop.what} of ${name}`}
      id="profile"
    >
      {canBeLog && !statistic.signed && (
        <label class="check">
          <input type="checkbox" data-testid="profile-log" checked={log} onChange={(event) => setLinear(!event.currentTarget.checked)} />
          log scale
        </label>
      )}
      <Chart
        id="profile-chart"
        lines={lines}
        log={log}
        label=""
        step={loop.indices[own]}
        theme={theme}
        pointAt={pointAt}
        goTo={(index) => select(loop.ids[loop.indices.indexOf(index)]!)}
      />
      <ChartKey id="profile-key" lines={lines} log={log} word={word} step={loop.indices[own]} pointed={pointed} />
      <Ends values={values} loop={loop} word={word} half={store.shown.half.value} />
    </Section>
  );
}

// The share of the last call's gradient that is left at the first call, or how the value grew from the first to the last.
function Ends({
  values,
  loop,
  word,
  half,
}: {
  readonly values: readonly (number | null)[];
  readonly loop: Loop;
  readonly word: string;
  readonly half: Half;
}): JSX.Element {
  const known = values.flatMap((value, i) => (value === null || value === 0 ? [] : [i]));
  const [first, last] = [known[0], known.at(-1)];
  if (first === undefined || last === undefined || first === last) return <></>;
  // From the start of the pass to its end.
  const [from, to] = half === "value" ? [first, last] : [last, first];
  const ratio = Math.abs(values[to]! / values[from]!);
  return (
    <p
      class="faint profile-ends"
      data-testid="profile-ends"
      data-ratio={plainNumber(ratio)}
      data-values={values.map((value) => (value === null ? "none" : plainNumber(value))).join()}
    >
      The {half === "value" ? `forward goes from the first ${word} to the last` : `backward goes from the last ${word} to the first`}:{" "}
      {word} {loop.indices[to]} has ×{formatNumber(ratio)} of {word} {loop.indices[from]}.
    </p>
  );
}

// The same loop on the other side of the comparison, if that is one run.
function thereOf({ compare }: CardProps["session"]["store"], loop: Loop, node: number, color: string): readonly ChartLine[] {
  const comparison = compare.comparison.value;
  if (comparison === undefined || comparison.sides.length > 1) return [];
  const { hierarchy, values: there, joined } = comparison.first;
  const { statistic } = comparison;
  const other =
    node === -1 ? groupLoop(hierarchy, loop) : joined.nodes[node] === -1 ? undefined : loopOfNode(hierarchy, joined.nodes[node]!);
  return other === undefined
    ? []
    : [{ id: "there", label: "there", color, steps: other.indices, values: profileOf(hierarchy, other, there.nodes, statistic) }];
}

function groupLoop(there: CardProps["hierarchy"], { what, name, ids }: Loop): Loop | undefined {
  if (what === "calls") return loopOfCalls(there, name);
  if (what === "repetitions") {
    const node = there.graph.columns.nodes.key.indexOf(ids[0]!);
    return node === -1 ? undefined : loopOfNode(there, node);
  }
  // The name of a fold differs between graphs, so the fold around the first block is used.
  const first = there.groupOf.get(ids[0]!);
  const fold = first === undefined ? -1 : there.groups[first]!.parent;
  return fold === -1 ? undefined : loopOfGroup(there, fold);
}
