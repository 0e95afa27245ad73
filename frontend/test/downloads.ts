// What the panel saves, caught before the browser asks where to put it.

import { afterEach, beforeEach } from "vitest";

export interface Saved {
  readonly name: string;
  readonly blob: Blob;
}

// Catches what each test of a file saves; empty at the start of a test.
export function useDownloads(): readonly Saved[] {
  const saved: Saved[] = [];
  const { createObjectURL } = URL;
  const { click } = HTMLAnchorElement.prototype;
  beforeEach(() => {
    saved.length = 0;
    const blobs = new Map<string, Blob>();
    URL.createObjectURL = (blob: Blob) => {
      const url = createObjectURL(blob);
      blobs.set(url, blob);
      return url;
    };
    HTMLAnchorElement.prototype.click = function () {
      saved.push({ name: this.download, blob: blobs.get(this.href)! });
    };
  });
  afterEach(() => {
    URL.createObjectURL = createObjectURL;
    HTMLAnchorElement.prototype.click = click;
  });
  return saved;
}
