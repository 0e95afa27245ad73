// Gradient ÷ value along the depth of the model, at the step.

import { useMemo, useState } from "preact/hooks";
import type { JSX } from "preact";
import { formatNumber, plainNumber } from "../../../base/format";
import { lineColor } from "../../../draw/style/line_colors";
import { ratiosOf, type Depth } from "../../../model/charts/depth";
import { Chart } from "../../chart/chart";
import { Section } from "../../controls/section";
import type { CardProps } from "./card_parts";
import type { Halves } from "./halves_of";

interface DepthProps extends Pick<CardProps, "drawing" | "select"> {
  readonly halves: Halves;
  readonly ids: readonly (string | undefined)[]; // of what the card shows
  readonly find: () => Depth | undefined;
  readonly of: readonly unknown[]; // what `find` depends on
}

export function DepthRatio({ drawing, select, halves: { gradient, value }, ids, find, of }: DepthProps): JSX.Element | null {
  const [pointed, pointAt] = useState<number | undefined>(undefined);
  const depth = useMemo(find, of);
  if (depth === undefined || gradient === undefined || value === undefined) return null;
  const ratios = ratiosOf(depth, gradient, value);
  const known = ratios.filter((ratio) => ratio !== null);
  if (known.length < 2) return null;
  const steps = depth.members.map(({ index }) => index);
  const own = depth.members.find(({ id }) => ids.includes(id));
  const shown = depth.members.find(({ index }) => index === pointed) ?? own;
  const ratio = shown && ratios[depth.members.indexOf(shown)];
  const theme = drawing.theme.value;
  return (
    <Section title={`Gradient ÷ value along ${depth.name}`} id="depth">
      <Chart
        id="depth-chart"
        lines={[{ id: "ratio", label: "gradient ÷ value", color: lineColor(0, theme), steps, values: ratios, gap: "not read" }]}
        log={known.some((one) => one > 0)}
        label=""
        step={own?.index}
        theme={theme}
        pointAt={pointAt}
        goTo={(index) => select(depth.members.find((member) => member.index === index)!.id)}
      />
      <p class="chart-key" data-testid="depth-key" data-values={ratios.map((one) => (one === null ? "none" : plainNumber(one))).join()}>
        {shown !== undefined && (
          <span>
            {shown.name} <b>{ratio === null || ratio === undefined ? "–" : formatNumber(ratio)}</b>
          </span>
        )}
        <span class="faint">
          L2 norm of the gradient ÷ L2 norm of the value {depth.outputs ? "that each module puts out" : "of each of these tensors"}
        </span>
      </p>
    </Section>
  );
}
