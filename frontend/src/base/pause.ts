// Splits long work into parts.

// From this many nodes on, the page can respond between two parts.
export const PAUSES_FROM = 4_000;

export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
