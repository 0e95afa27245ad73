// The line above the heat map: its scalar and its scale.

export interface ScalarSeries {
  readonly tag: string;
  readonly steps: readonly number[]; // ascending
  readonly values: Float64Array; // may be NaN or infinite
  readonly isOfStep?: true; // a quantity: a step without it has no number
}

// One number of each step as a whole; several if it has one for each backward pass.
export interface Quantity {
  readonly steps: readonly number[]; // ascending
  readonly backwardPasses: readonly number[];
  readonly values: readonly number[]; // may be NaN or infinite
}

// By name; `missing` says why no record has some of them.
export interface Quantities {
  readonly known: ReadonlyMap<string, Quantity>;
  readonly missing: ReadonlyMap<string, string>;
}

export const NO_QUANTITIES: Quantities = { known: new Map(), missing: new Map() };

// The quantity whose line is drawn unless the user says otherwise.
export const LOSS = "loss";

const PART_OF_LOSS = "loss/";

export function quantityMeaning(name: string): string {
  return name.startsWith(PART_OF_LOSS)
    ? `${name}: as it enters the loss, with its weight in the sum`
    : `${name}, a number of the step as a whole`;
}

// One number a step: that of a backward pass, or else of the last one before it.
export function atPass({ steps, backwardPasses, values }: Quantity, pass: number): Omit<Quantity, "backwardPasses"> {
  const chosen = new Map<number, number>();
  steps.forEach((step, i) => {
    if (!chosen.has(step) || backwardPasses[i]! <= pass) chosen.set(step, values[i]!);
  });
  return { steps: [...chosen.keys()], values: [...chosen.values()] };
}

// The tag that is most likely the training loss: it is named so, belongs to training rather than a test, and is short.
export function lossTag(tags: readonly string[]): string | undefined {
  const rank = (tag: string): number => {
    const last = tag.slice(tag.lastIndexOf("/") + 1);
    const other = /val|test|eval|dev/i.test(tag) ? 100 : 0;
    const named = /^loss$/i.test(last)
      ? 0
      : /loss/i.test(last)
        ? 10
        : /loss/i.test(tag)
          ? 20
          : /nll|objective|perplexity|cost/i.test(tag)
            ? 40
            : Infinity;
    return named + other - (/train/i.test(tag) ? 1 : 0);
  };
  const ranked = tags.map((tag) => [rank(tag), tag] as const).filter(([at]) => at < Infinity);
  ranked.sort(([a, one], [b, other]) => a - b || one.length - other.length);
  return ranked[0]?.[1];
}

export interface ValueScale {
  readonly low: number;
  readonly high: number;
  readonly log: boolean;
  position(value: number): number; // 0 at the bottom, 1 at the top
}

// Logarithmic if the values span more than two decades, because small values would be one flat line.
const LINEAR_UP_TO = 100;

export function valueScale(values: Iterable<number>): ValueScale | undefined {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return undefined;
  const log = low > 0 && high / low > LINEAR_UP_TO;
  const along = (value: number): number => (log ? Math.log10(Math.max(value, Number.MIN_VALUE)) : value);
  const room = (along(high) - along(low)) * 0.06 || Math.abs(along(high)) * 0.05 || 1;
  const [bottom, top] = [along(low) - room, along(high) + room];
  return { low, high, log, position: (value) => (along(value) - bottom) / (top - bottom) };
}

// The value logged at a step, or at the last one before it. A quantity is that of the step alone.
export function valueAt({ steps, values, isOfStep }: ScalarSeries, step: number): number | undefined {
  const after = steps.findIndex((one) => one > step);
  const at = (after === -1 ? steps.length : after) - 1;
  return at === -1 || (isOfStep && steps[at] !== step) ? undefined : values[at];
}
