// Stands in for d3-transition and d3-interpolate. d3-zoom needs them only to stop what moves by itself, and
// nothing here moves by itself. The build puts this file in their place (vite.config.ts).

import { selection } from "d3-selection";

export function interrupt(): void {}

export function interpolateZoom(): never {
  throw new Error("The panel has no transitions.");
}

selection.prototype.interrupt = function (this: unknown): unknown {
  return this;
};
