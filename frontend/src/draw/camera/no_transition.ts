// Stands in for d3-transition and d3-interpolate, of which d3-zoom needs only that what moves by itself is stopped:
// nothing here does. The build puts it in their place (vite.config.ts).

import { selection } from "d3-selection";

export function interrupt(): void {}

export function interpolateZoom(): never {
  throw new Error("The panel has no transitions.");
}

selection.prototype.interrupt = function (this: unknown): unknown {
  return this;
};
