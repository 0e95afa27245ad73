// Replaces d3-transition and d3-interpolate in the build (vite.config.ts). d3-zoom needs them only
// to stop animations, and there are none here.

import { selection } from "d3-selection";

export function interrupt(): void {}

export function interpolateZoom(): never {
  throw new Error("The panel has no transitions.");
}

selection.prototype.interrupt = function (this: unknown): unknown {
  return this;
};
