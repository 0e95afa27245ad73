// The ratio at which a color of a comparison is full.

const SHARE = 0.95; // of the ratios differ in color

// The first of `reaches` (log2, ascending) that this share of the ratios stays below; the last one if none does. Where one side
// is zero there is no ratio.
export function reachFor(log2s: Iterable<number>, reaches: readonly number[], least: number): number {
  const sizes = [...log2s].map(Math.abs).filter(Number.isFinite);
  sizes.sort((a, b) => a - b);
  const needed = sizes[Math.max(0, Math.ceil(SHARE * sizes.length) - 1)] ?? 0;
  return reaches.find((reach) => reach >= least && reach >= needed) ?? reaches.at(-1)!;
}
