// Saves pictures of a view, by the same painters, to a canvas or an SVG.

import type { Size } from "../../base/geometry";
import { footerHeight, paintFooter, type Footer } from "../../draw/charts/paint_footer";
import { FORWARD } from "../../base/vocabulary";
import { ratioColor } from "../../draw/compare/ratio_scale";
import { rampOf } from "../../draw/style/color_scale";
import type { Theme } from "../../draw/style/theme";
import { spokenIn } from "../../model/recorded/complex";
import { halfOf, noneWord, nounOf } from "../../model/recorded/record";
import { BACKWARD } from "../../model/recorded/run";
import { thereText } from "../../state/compare";
import type { Store } from "../../state/store";
import type { Drawing } from "../session/drawing";
import { saveFile } from "./download";

// Anything that can be painted; `pixelRatio` is the canvas's, or 1 for an SVG.
export interface Painted {
  readonly size: Size;
  paint(context: CanvasRenderingContext2D, pixelRatio: number): void;
}

const SHARP = 2;
// Browsers do not create larger canvases.
const MOST_SIDE_PX = 16_000;
const MOST_PIXELS = 100_000_000;

// With its colors explained below it. `ofAllSteps`: it shows all steps, not only the current one.
export function withFooter(view: Painted, store: Store, drawing: Drawing, ofAllSteps: boolean): Painted {
  const size = { width: Math.ceil(view.size.width), height: Math.ceil(view.size.height) };
  const [footer, theme] = [footerOf(store, drawing, ofAllSteps), drawing.theme.peek()];
  return {
    size: { width: size.width, height: size.height + footerHeight(size.width, footer, theme) },
    paint(context, pixelRatio) {
      view.paint(context, pixelRatio);
      context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
      paintFooter(context, size, footer, theme);
    },
  };
}

export async function savePicture(format: "png" | "svg", { size, paint }: Painted, name: string, store: Store): Promise<void> {
  try {
    saveFile(`${name}.${format}`, await (format === "svg" ? svgOf(size, paint) : pngOf(size, paint)));
  } catch (error) {
    store.shown.notice.value = `The picture could not be made. ${String(error)}`;
  }
}

// Loaded when it is first needed, because most users never need it.
async function svgOf(size: Size, paint: Painted["paint"]): Promise<Blob> {
  const { Context } = await import("svgcanvas");
  const context = new Context(size);
  paint(context as unknown as CanvasRenderingContext2D, 1);
  return new Blob([context.getSerializedSvg(true)], { type: "image/svg+xml" });
}

export async function pngOf({ width, height }: Size, paint: Painted["paint"], mostPixels = MOST_PIXELS): Promise<Blob> {
  const ratio = Math.min(SHARP, MOST_SIDE_PX / Math.max(width, height), Math.sqrt(mostPixels / (width * height)));
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("This browser has no 2D canvas.");
  paint(context, ratio);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (blob === null) throw new Error("This browser could not make a picture.");
  return blob;
}

function footerOf(store: Store, drawing: Drawing, ofAllSteps: boolean): Footer {
  const scale = drawing.scale.peek();
  const theme = drawing.theme.peek();
  const [statistic, ref] = [spokenIn(store.shown.statistic.peek(), store.recorded.hierarchy.peek()?.graph), store.place.ref.peek()];
  const noun = nounOf(halfOf(store.recorded.record.peek()?.stage) === "value" ? FORWARD : BACKWARD);
  const stage = ref === undefined || ref.stage === BACKWARD || noun === "Value" ? "" : `, ${ref.stage}`;
  const step = ref === undefined || ofAllSteps ? stage : `, step ${ref.step}${stage}`;
  const of = `${[store.place.run.peek()?.run, store.place.tag.peek()?.tag].filter((part) => part !== undefined && part !== ".").join(" · ")}${step}`;
  const there = store.compare.place.peek();
  if (there?.read !== undefined) {
    const most = 2 ** store.compare.reach.peek();
    return {
      what: `${noun}, ${statistic.label}: here ÷ there`,
      of: `${of} ÷ ${thereText(store.compare.places.peek(), " · ")}${ofAllSteps && store.compare.choice.peek()?.step === undefined ? "" : `, step ${there.ref.step}`}`,
      scale: { ...scale, domain: [1 / most, most], below: false, above: false },
      ramp: blended(theme),
      chips: [
        [theme.zero, ratioColor(-Infinity, 1, theme), "zero here"],
        [theme.zero, ratioColor(Infinity, 1, theme), "zero there"],
        [theme.none, theme.border, "no ratio"],
        [theme.nonfinite, theme.border, "NaN / inf"],
      ],
    };
  }
  return {
    what: `${noun}, ${statistic.label}${statistic.scale === "log" ? " (log)" : ""}`,
    of,
    scale,
    ramp: rampOf(theme.dark, theme.ramp),
    chips: [
      [theme.zero, theme.border, "zero"],
      [theme.none, theme.border, noneWord(store.shown.half.peek())],
      [theme.nonfinite, theme.border, "NaN / inf"],
    ],
  };
}

// Colors of the scale of ratios, as many as a ramp has.
function blended(theme: Theme): readonly string[] {
  return Array.from({ length: 64 }, (_, i) => ratioColor((2 * i) / 63 - 1, 1, theme));
}

// The name of a file; `what`: the contents, if that is not the step.
export function nameOf(store: Store, what: string | number | undefined = store.place.ref.peek()?.step): string {
  const run = store.place.run.peek()?.run;
  const parts = [...(run === undefined || run === "." ? [] : [run]), store.place.tag.peek()?.tag, what];
  return ["gradgraph", ...parts]
    .join("-")
    .replace(/[^\w-]+/g, "_")
    .slice(0, 100);
}
