// A function that acquires something returns a function that releases it. A Disposer collects these
// and calls all of them.

export type Dispose = () => void;

export class Disposer {
  private releases: Dispose[] = [];
  private disposed = false;

  // Anything that is acquired after the end, for example because an answer arrives late, is released at once.
  add(release: Dispose): void {
    if (this.disposed) release();
    else this.releases.push(release);
  }

  // Releases in reverse order. A second call does nothing.
  dispose(): void {
    this.disposed = true;
    const releases = this.releases.reverse();
    this.releases = [];
    for (const release of releases) release();
  }
}

// Adds a DOM listener and returns a function that removes it.
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
