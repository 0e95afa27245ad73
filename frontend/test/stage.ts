// A mounted panel that answers from fixtures, and how a test sees and uses it.

import { afterEach, beforeEach, expect, inject, vi } from "vitest";
import { mount, type MountOptions } from "../src/panel/mount";
import { writeHash } from "../src/panel/session/host";
import { serveFixtures, type FixtureRun } from "./fixture";
import "./kept_workers";

export interface Stage {
  runs: readonly FixtureRun[];
  readonly asked: string[]; // what was fetched, in order
  place: HTMLElement;
  options: MountOptions;
  show(...runs: readonly FixtureRun[]): void;
  one(id: string): HTMLElement | null;
  item(key: string): HTMLElement;
  keys(): readonly string[];
  drawn(key: string): Promise<void>;
  choose(id: string, value: string): void;
  find(text: string, key: string): Promise<void>; // types and chooses
  camera(): { x: number; y: number; k: number };
  middleOf(key: string): { x: number; y: number };
  click(point: { x: number; y: number }, type?: string): void;
}

declare module "vitest" {
  interface ProvidedContext {
    patience: number;
  }
}

export const waitFor = <T>(check: () => T): Promise<T> => vi.waitFor(check, { timeout: 8000 * inject("patience"), interval: 20 });
export const press = (key: string, target: EventTarget = document): boolean =>
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
export const settle = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

// Points at a chart (uPlot listens to moves that move, and forgets presses that were none), and clicks it.
export function pointAtChart(chart: HTMLElement, part: number, types: readonly string[] = []): void {
  const over = chart.querySelector<HTMLElement>(".u-over")!;
  const { left, top, width } = over.getBoundingClientRect();
  const at = { clientX: left + part * width, clientY: top + 20, movementX: 1, bubbles: true };
  for (const type of ["mouseenter", "mousemove", ...types]) over.dispatchEvent(new MouseEvent(type, at));
}

export const CLICK: readonly string[] = ["mousedown", "mouseup", "click"];

// Call at the top of a test file: each of its tests gets an empty stage.
export function useStage(): Stage {
  let unmount: () => void = () => undefined;
  let unserve: () => void = () => undefined;
  const stage: Stage = {
    runs: [],
    asked: [],
    place: document.createElement("div"),
    options: {},
    show(...shown) {
      unmount(); // of an earlier visit
      stage.runs = shown;
      unmount = mount(stage.place, { base: "./fixture/", ...stage.options });
    },
    one: (id) => stage.place.querySelector(`[data-testid="${id}"]`),
    item(key) {
      const found = [...stage.place.querySelectorAll<HTMLElement>("[role=treeitem]")].find((li) => li.dataset.key === key);
      if (found === undefined) throw new Error(`no ${key}`);
      return found;
    },
    keys: () => [...stage.place.querySelectorAll<HTMLElement>("[role=treeitem]")].map((li) => li.dataset.key!),
    drawn: (key) => waitFor(() => expect(stage.item(key).dataset.state).not.toBe("none")),
    choose(id, value) {
      const control = stage.one(id) as HTMLSelectElement;
      control.value = value;
      control.dispatchEvent(new Event("change", { bubbles: true }));
    },
    async find(text, key) {
      const find = stage.one("find") as HTMLInputElement;
      find.value = text;
      find.dispatchEvent(new Event("input", { bubbles: true }));
      await waitFor(() => expect(stage.one("found")?.querySelector<HTMLElement>("[aria-selected=true]")?.dataset.key).toBe(key));
      press("Enter", find);
    },
    camera() {
      const [x, y, k] = stage.one("canvas")!.dataset.camera!.split(",").map(Number);
      return { x: x!, y: y!, k: k! };
    },
    middleOf(key) {
      const [x, y, width, height] = stage.item(key).dataset.rect!.split(",").map(Number);
      const camera = stage.camera();
      return { x: camera.x + (x! + width! / 2) * camera.k, y: camera.y + (y! + height! / 2) * camera.k };
    },
    click({ x, y }, type = "click") {
      const canvas = stage.one("canvas")!;
      const { left, top } = canvas.getBoundingClientRect();
      canvas.dispatchEvent(new PointerEvent(type, { clientX: left + x, clientY: top + y, bubbles: true, cancelable: true }));
    },
  };
  beforeEach(() => {
    const answering = serveFixtures(() => stage.runs);
    const answer = window.fetch;
    window.fetch = (input, init) => {
      stage.asked.push(String(input));
      return answer(input, init);
    };
    unserve = answering;
    stage.asked.length = 0;
    stage.options = {};
    stage.place = document.createElement("div");
    stage.place.style.height = "700px";
    document.body.append(stage.place);
    writeHash("");
  });
  afterEach(() => {
    unmount();
    unserve();
    stage.place.remove();
  });
  return stage;
}
