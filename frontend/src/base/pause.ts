// Work that takes long, in parts.

// With this many nodes or more, the page gets a turn between two parts.
export const PAUSES_FROM = 4_000;

export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
