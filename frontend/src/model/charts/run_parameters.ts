// Hyperparameters of runs: those that TensorBoard has, and those that the names of runs hold, as in "lr=0.01,width=64".

export type HyperValue = string | number | boolean;
export type OfRuns = ReadonlyMap<string, ReadonlyMap<string, HyperValue>>; // by run, then by name

const IN_NAME = /(?:^|[/,; _-])([A-Za-z][A-Za-z0-9_.]*?)[=:]([^/,; =:]+?)(?=$|[/,; ]|[_-][A-Za-z][A-Za-z0-9_.]*?[=:])/g;

export function parametersInName(run: string): ReadonlyMap<string, HyperValue> {
  return new Map([...run.matchAll(IN_NAME)].map(([, name, text]) => [name!, valueOf(text!)] as const));
}

function valueOf(text: string): HyperValue {
  const number = Number(text);
  return text.trim() !== "" && Number.isFinite(number) ? number : text;
}

// What is known of each run. TensorBoard's own come before those in names.
export function parametersOf(runs: readonly string[], recorded: OfRuns): OfRuns {
  return new Map(runs.map((run) => [run, new Map([...parametersInName(run), ...(recorded.get(run) ?? [])])] as const));
}

// Those in which these runs differ; a run that lacks one differs too. In order of appearance.
export function differing(runs: readonly string[], of: OfRuns): readonly string[] {
  const names = [...new Set(runs.flatMap((run) => [...(of.get(run)?.keys() ?? [])]))];
  return names.filter((name) => new Set(runs.map((run) => of.get(run)?.get(name))).size > 1);
}

export interface Level {
  readonly value: HyperValue | undefined; // undefined: these runs lack it
  readonly part: number | undefined; // 0 to 1 along a color scale; undefined: each value has a color of its own
}

// The values of one hyperparameter in order. Several positive numbers over more than a decade are placed by their logarithms.
export function levelsOf(name: string, runs: readonly string[], of: OfRuns): readonly Level[] {
  const values = [...new Set(runs.map((run) => of.get(run)?.get(name)))];
  const known = values.filter((value) => value !== undefined);
  const missing: readonly Level[] = values.length > known.length ? [{ value: undefined, part: undefined }] : [];
  const numbers = known.filter((value) => typeof value === "number").sort((a, b) => a - b);
  if (numbers.length < known.length || numbers.length < 2) {
    const sorted = [...known].sort((a, b) => String(a).localeCompare(String(b), "en", { numeric: true }));
    return [...sorted.map((value) => ({ value, part: undefined })), ...missing];
  }
  const [least, most] = [numbers[0]!, numbers.at(-1)!];
  const along = least > 0 && most > 10 * least ? Math.log : (value: number) => value;
  return [...numbers.map((value) => ({ value, part: (along(value) - along(least)) / (along(most) - along(least)) })), ...missing];
}
