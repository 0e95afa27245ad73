// Choices that the browser keeps from visit to visit. A page that is embedded elsewhere may have no storage.

const PREFIX = "gradgraph.";

export function kept(name: string): string | null {
  try {
    return window.localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

export function keep(name: string, value: string): void {
  try {
    window.localStorage.setItem(PREFIX + name, value);
  } catch {
    // Then the user must choose again next time.
  }
}
