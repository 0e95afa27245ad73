// Work that takes long, in parts.

// From so many nodes on the page is given a turn between two parts.
export const PAUSES_FROM = 4_000;

export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
