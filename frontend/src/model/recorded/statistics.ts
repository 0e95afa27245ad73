// The statistics that can be drawn, and how each is read, summarized and compared.

export interface Statistic {
  readonly id: string;
  readonly label: string;
  // Columns of the wire that are added up to give it; for most, the one of its own name.
  readonly columns: readonly string[];
  // log: by magnitude on a logarithmic scale; unit: linear from 0 to 1.
  readonly scale: "log" | "unit";
  // How a group or a node of several tensors is summarized.
  readonly summary: "greatest" | "sum";
  // Negative numbers occur: on a logarithmic axis only magnitudes can be drawn.
  readonly signed: boolean;
  readonly meaning: string;
}

function log(id: string, label: string, meaning: string, signed = false): Statistic {
  return { id, label, columns: [id], scale: "log", summary: "greatest", signed, meaning };
}

function count(id: string, label: string, columns: readonly string[], meaning: string): Statistic {
  return { id, label, columns, scale: "log", summary: "sum", signed: false, meaning };
}

export const STATISTICS: readonly Statistic[] = [
  log("l2_norm", "L2 norm", "Square root of the sum of squares"),
  log("abs_max", "abs max", "Greatest magnitude of an element"),
  log("mean", "mean", "Mean of the elements, colored by magnitude", true),
  log("std", "std", "Standard deviation of the elements"),
  log("min", "min", "Least element, colored by magnitude", true),
  log("max", "max", "Greatest element, colored by magnitude", true),
  {
    id: "zero_fraction",
    label: "zero fraction",
    columns: ["zero_fraction"],
    scale: "unit",
    summary: "greatest",
    signed: false,
    meaning: "Part of the elements that are exactly zero",
  },
  count("nonfinite", "NaN + inf", ["nan", "posinf", "neginf"], "Elements that are NaN or infinite"),
  count("nan", "NaN", ["nan"], "Elements that are NaN"),
  count("posinf", "+inf", ["posinf"], "Elements that are +infinity"),
  count("neginf", "−inf", ["neginf"], "Elements that are −infinity"),
];

// Statistics of which a tensor of one element has no other than that element, up to its sign.
const OF_ONE_ELEMENT: readonly string[] = ["l2_norm", "abs_max", "mean", "min", "max"];

export function isElementItself({ id }: Statistic): boolean {
  return OF_ONE_ELEMENT.includes(id);
}

// Columns that are not of the gradient but of the parameter, at the stage "applied".
export const OF_WEIGHTS: readonly string[] = ["weight_norm", "update_norm", "update_ratio"];

export const DEFAULT_STATISTIC = STATISTICS[0]!;

export function statisticOf(id: string): Statistic | undefined {
  return STATISTICS.find((statistic) => statistic.id === id);
}

// Least and greatest of some numbers.
export type Domain = readonly [number, number];

// Where the numbers of a statistic lie over all records of a tag, signs and zeros aside.
export interface Magnitudes {
  readonly domain: Domain;
  readonly fences: Domain; // what is beyond lies far outside of the others
}

export function around(domains: readonly Domain[]): Domain {
  return [Math.min(...domains.map(([low]) => low)), Math.max(...domains.map(([, high]) => high))];
}
