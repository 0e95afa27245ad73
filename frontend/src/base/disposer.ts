// What is acquired returns its release; a Disposer releases many at once.

export type Dispose = () => void;

export class Disposer {
  private releases: Dispose[] = [];
  private disposed = false;

  // What is acquired after the end, for example when a late answer arrives, is released at once.
  add(release: Dispose): void {
    if (this.disposed) release();
    else this.releases.push(release);
  }

  // Releases in reverse order; calling it twice is harmless.
  dispose(): void {
    this.disposed = true;
    const releases = this.releases.reverse();
    this.releases = [];
    for (const release of releases) release();
  }
}

// Adds a DOM listener and returns its removal.
export function listen<E extends Event>(
  target: EventTarget,
  type: string,
  listener: (event: E) => void,
  options?: AddEventListenerOptions,
): Dispose {
  const untyped = listener as EventListener;
  target.addEventListener(type, untyped, options);
  return () => target.removeEventListener(type, untyped, options);
}
