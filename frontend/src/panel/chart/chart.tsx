// Lines over steps, or over the calls of a loop (uPlot). A click selects the step or call under the pointer.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import uPlot from "uplot";
import { plainNumber } from "../../base/format";
import type { ChartLine } from "../../draw/charts/chart_line";
import { markedSteps } from "../../draw/charts/chart_marks";
import { smooth } from "../../model/charts/smoothing";
import { zoomChart, type Gestures } from "./chart_gestures";
import { centerOne, optionsOf } from "./chart_options";
import type { ChartProps } from "./chart_props";

const HEIGHT_PX = 150;

export function Chart(props: ChartProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef(props);
  const [height, setHeight] = useState(HEIGHT_PX);
  latest.current = props;
  const { lines, log, label, theme, smoothing = 0 } = props;
  const gestures = useRef<Gestures | undefined>(undefined);
  const { finite, zeros, nonfinite, records, looks, numbers } = useMemo(() => summaryOf(lines, log), [lines, log]);
  const zooms = props.setZoom !== undefined;
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const made = new uPlot(optionsOf(latest, { width: element.clientWidth || 300, height }), dataOf(props), element);
    centerOne(made);
    const hand = zoomChart(made, latest);
    if (props.zoom?.x !== undefined || props.zoom?.y !== undefined) hand.show(props.zoom);
    made.over.addEventListener("click", () => hand.isDragged() || goToCursor(made, latest.current));
    let frame = 0;
    const observer = new ResizeObserver(() => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => fit(made, element, latest.current, setHeight));
    });
    observer.observe(element);
    plot.current = made;
    gestures.current = hand;
    return () => {
      hand.close();
      observer.disconnect();
      cancelAnimationFrame(frame);
      made.destroy();
      plot.current = undefined;
    };
  }, [log, label, theme, looks, smoothing > 0, finite === 0 && records > 0]);
  useEffect(() => {
    plot.current?.setData(dataOf(props));
    if (plot.current !== undefined) centerOne(plot.current);
    gestures.current?.show(gestures.current.zoom());
  }, [numbers, smoothing]);
  const { zoom, range } = props;
  // At once, because the next gesture starts from what is shown.
  useLayoutEffect(() => gestures.current?.show(zoom ?? {}), [zoom]);
  useLayoutEffect(() => gestures.current?.show(gestures.current.zoom()), [range?.[0], range?.[1]]);
  // Measured with its axes, which an empty chart does not have yet.
  useEffect(() => plot.current?.redraw(false, true), [props.step]);
  const press = (event: KeyboardEvent): void => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey && gestures.current?.press(event)) event.preventDefault();
  };
  return (
    <div
      class={props.fills ? "chart fills" : "chart"}
      data-testid={props.id ?? "chart"}
      data-points={finite}
      data-zeros={zeros}
      data-nonfinite={nonfinite}
      data-step={props.step}
      data-log={log}
      data-axis={label}
      data-lines={lines.map(({ id }) => id).join("\n")}
      data-x={zoom?.x?.join(" ")}
      data-y={zoom?.y?.join(" ")}
      {...(zooms ? { role: "group", tabIndex: 0, onKeyDown: press } : { role: "img" })}
      aria-label={`${finite} of ${records} records have a number${zooms ? ". Keys + and − zoom, Page Up and Page Down vertically, arrows move, 0 shows all" : ""}`}
    >
      {finite === 0 && records > 0 ? (
        <p class="chart-empty">
          No finite number at any step.
          {nonfinite > 0 && (
            <b class="bad">
              {" "}
              NaN or inf at {nonfinite} of {records}.
            </b>
          )}
        </p>
      ) : (
        <div ref={place} />
      )}
    </div>
  );
}

// What the lines hold, and what tells that they changed.
function summaryOf(lines: readonly ChartLine[], log: boolean) {
  const { zeros, nonfinite } = markedSteps(lines, log);
  return {
    finite: lines.reduce((sum, { values }) => sum + values.reduce((count: number, value) => count + (value === null ? 0 : 1), 0), 0),
    records: lines.reduce((sum, { values }) => sum + values.length, 0),
    zeros: zeros.length,
    nonfinite: nonfinite.length,
    looks: lines.map(({ id, color, dash }) => `${id} ${color} ${dash}`).join("\n"),
    numbers: lines
      .map(({ steps, values, nonfinite: bad }) => `${steps.join()} ${values.join()} ${[...(bad?.keys() ?? [])].join()}`)
      .join("\n"),
  };
}

function fit(plot: uPlot, element: HTMLElement, { fills }: ChartProps, setHeight: (height: number) => void): void {
  const { clientWidth: width, clientHeight } = element;
  const height = fills ? clientHeight : HEIGHT_PX;
  if (width === 0 || height === 0 || (width === plot.width && height === plot.height)) return;
  setHeight(height);
  plot.setSize({ width, height });
}

// A logarithmic axis takes magnitudes; zeros are marked below it. While lines are smoothed, the raw ones lie below them.
function dataOf({ lines, log, smoothing = 0 }: ChartProps): uPlot.AlignedData {
  const shown = (values: readonly (number | null)[]): (number | null)[] =>
    values.map((value) => (value === null || !log ? value : value === 0 ? null : Math.abs(value)));
  const tables = lines.flatMap(({ steps, values }): uPlot.AlignedData[] => {
    const raw: uPlot.AlignedData = [[...steps], shown(values)];
    return smoothing > 0 ? [raw, [[...steps], shown(smooth(values, smoothing))]] : [raw];
  });
  if (tables.length === 0) return [[]];
  // A step that only another line has is not a gap in this line.
  return uPlot.join(tables);
}

function goToCursor(plot: uPlot, { goTo }: ChartProps): void {
  const { idx } = plot.cursor;
  const step = typeof idx === "number" ? plot.data[0][idx] : undefined;
  if (step !== undefined) goTo(step);
}

// NaN or infinite, if no element is finite.
export function valueIn(
  { steps, values, nonfinite }: Pick<ChartLine, "steps" | "values" | "nonfinite">,
  step: number | undefined,
): number | null | undefined {
  return step === undefined ? undefined : (values[steps.indexOf(step)] ?? nonfinite?.get(step));
}

// A logarithmic axis has no zero, so only the marks of such a line are visible.
export function isAllZero({ values }: Pick<ChartLine, "values">): boolean {
  return values.every((value) => value === null || value === 0) && values.includes(0);
}

export function plainValue(value: number | null | undefined): string {
  return value === null || value === undefined ? "none" : plainNumber(value);
}
