// The color scales that can be chosen, by name.

export type Ramp = "ylgnbu" | "viridis" | "cividis" | "grey";

export interface RampChoice {
  readonly id: Ramp;
  readonly text: string;
}

export const RAMPS: readonly RampChoice[] = [
  { id: "ylgnbu", text: "Blue to yellow" },
  { id: "viridis", text: "Viridis" },
  { id: "cividis", text: "Cividis" },
  { id: "grey", text: "Grey" },
];

export const DEFAULT_RAMP: Ramp = "ylgnbu";

export function rampNamed(name: string | null | undefined): Ramp | undefined {
  return RAMPS.find(({ id }) => id === name)?.id;
}
