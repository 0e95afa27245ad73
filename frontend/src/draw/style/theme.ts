// Every color that is drawn, for both themes. Magenta means NaN or infinity and nothing else.

import type { Ramp } from "./ramp_names";

export interface Theme {
  readonly ramp: Ramp; // the colors of numbers
  readonly dark: boolean;
  readonly background: string;
  readonly surface: string;
  readonly border: string;
  readonly ink: string;
  readonly inkSoft: string;
  readonly inkOnDark: string;
  readonly inkOnLight: string;
  readonly accent: string;
  readonly leaf: string;
  readonly input: string;
  readonly root: string;
  readonly secondOrder: string;
  readonly cut: string;
  readonly edge: string;
  readonly edgeSoft: string;
  readonly groupFill: readonly [string, string];
  readonly groupBorder: string;
  readonly none: string;
  readonly noneLine: string;
  readonly zero: string;
  readonly only: string; // hatching of nodes that only one of two graphs has
  readonly nonfinite: string;
  // Elements below, at and above zero, in pictures of whole arrays.
  readonly elements: readonly [string, string, string];
}

export const LIGHT: Theme = {
  ramp: "ylgnbu",
  dark: false,
  background: "#f6f7f9",
  surface: "#ffffff",
  border: "#c3c9d2",
  ink: "#1b1f26",
  inkSoft: "#4a5361",
  inkOnDark: "#ffffff",
  inkOnLight: "#000000",
  accent: "#3056d3",
  leaf: "#1f9254",
  input: "#7a6bc4",
  root: "#d9730d",
  secondOrder: "#7c3aed",
  cut: "#c62a2a",
  edge: "#8d96a5",
  edgeSoft: "#c9ced6",
  groupFill: ["#ffffff", "#f1f3f6"],
  groupBorder: "#d3d8df",
  none: "#e6e9ed",
  noneLine: "#cfd4db",
  zero: "#ffffff",
  only: "#a78bfa",
  nonfinite: "#e6007e",
  elements: ["#1f5fbf", "#f4f5f7", "#b3540a"],
};

export const DARK: Theme = {
  ramp: "ylgnbu",
  dark: true,
  background: "#15171b",
  surface: "#1e2126",
  border: "#454c57",
  ink: "#e8eaee",
  inkSoft: "#b4bdca",
  inkOnDark: "#ffffff",
  inkOnLight: "#000000",
  accent: "#7ea2ff",
  leaf: "#3fbf7f",
  input: "#a99cf0",
  root: "#f0964a",
  secondOrder: "#c4a7ff",
  cut: "#ff7b72",
  edge: "#76808f",
  edgeSoft: "#3d444e",
  groupFill: ["#1b1e23", "#22262c"],
  groupBorder: "#343a43",
  none: "#2a2e35",
  noneLine: "#3c424b",
  zero: "#000000",
  only: "#8468d8",
  nonfinite: "#ff2d95",
  elements: ["#6aa9ff", "#23272e", "#ff9d45"],
};

const themes = new Map<string, Theme>();

// The same object each time, so that nothing is painted again without need.
export function themeOf(dark: boolean, ramp: Ramp): Theme {
  const known = themes.get(`${dark} ${ramp}`) ?? { ...(dark ? DARK : LIGHT), ramp };
  themes.set(`${dark} ${ramp}`, known);
  return known;
}
