// Colors in legends: a single color with its meaning, and a scale.

import type { JSX } from "preact";
import { formatNumber } from "../../base/format";
import { noneWord, type Half } from "../../model/recorded/record";
import type { ColorScale } from "../../draw/style/color_scale";
import type { Theme } from "../../draw/style/theme";

const STOPS = 12;

export function Chip({
  color,
  border,
  children,
  hatched = false,
  dotted = false,
  dashed = false,
  lean = 1,
  framed = false,
}: {
  readonly color: string;
  readonly border: string;
  readonly children: string;
  readonly hatched?: boolean;
  readonly dotted?: boolean;
  readonly dashed?: boolean;
  readonly lean?: 1 | -1;
  readonly framed?: boolean;
}): JSX.Element {
  const hatch = `repeating-linear-gradient(${90 + 45 * lean}deg, ${color} 0 3px, ${border} 3px 4px)`;
  const dots = `radial-gradient(${border} 0.9px, ${color} 1.1px) 0 0 / 4px 4px`;
  return (
    <span class="chip">
      <i
        style={{
          background: hatched ? hatch : dotted ? dots : color,
          borderColor: border,
          borderStyle: dashed ? "dashed" : "solid",
          borderWidth: framed ? "3px" : undefined,
        }}
      />
      {children}
    </span>
  );
}

// What has a color of its own beside the scale. In a comparison, what has no ratio. A value that was not read is dotted.
export function BesideScale({
  theme,
  compared = false,
  half,
}: {
  readonly theme: Theme;
  readonly compared?: boolean;
  readonly half: Half;
}): JSX.Element {
  return (
    <>
      {!compared && (
        <Chip color={theme.zero} border={theme.border}>
          zero
        </Chip>
      )}
      <Chip color={theme.none} border={theme.noneLine} hatched={half === "gradient"} dotted={half === "value"}>
        {compared ? "no ratio" : noneWord(half)}
      </Chip>
      <Chip color={theme.nonfinite} border={theme.nonfinite}>
        NaN / inf
      </Chip>
    </>
  );
}

export function rampStops(ramp: readonly string[]): readonly string[] {
  return Array.from({ length: STOPS }, (_, i) => ramp[Math.round((i / (STOPS - 1)) * (ramp.length - 1))]!);
}

// An end with numbers beyond it is pointed.
export function Ramp({ colors, scale }: { readonly colors: readonly string[]; readonly scale: ColorScale }): JSX.Element {
  const { below, above } = scale;
  return (
    <div
      class={`ramp${below ? " below" : ""}${above ? " above" : ""}`}
      style={{ background: `linear-gradient(to right, ${rampStops(colors).join(", ")})` }}
    />
  );
}

// The ends in words, "≤ 1e-9".
export function endsOf({ domain: [low, high], below, above }: ColorScale): readonly [string, string] {
  return [`${below ? "≤ " : ""}${formatNumber(low)}`, `${above ? "≥ " : ""}${formatNumber(high)}`];
}
