import { test } from "vitest";
import { transformer, chain } from "../fixtures/examples.mjs";
import { makeScale } from "../src/draw/color_scale";
import { sizeOf } from "../src/draw/caption";
import { paint } from "../src/draw/painter";
import { buildScene, paintScene } from "../src/draw/scene";
import { LIGHT } from "../src/draw/theme";
import { stackBoxes } from "../src/layout/stack";
import { showGraph } from "../src/model/collapse";
import { buildHierarchy } from "../src/model/hierarchy";
import { lightPath } from "../src/model/paths";
import { statisticOf } from "../src/model/statistics";
import { computeValues } from "../src/model/values";
import { hierarchyOf, recordAt } from "./fixture";
const norm = statisticOf("l2_norm")!;
test("bench", async () => {
  const run = transformer(220, 1);
  const hierarchy = hierarchyOf(run);
  const b0 = performance.now(); buildHierarchy(hierarchy.graph); const b1 = performance.now();
  const visible = showGraph(hierarchy, new Set(hierarchy.groups.keys()));
  // A grid of columns, so that many are in view.
  const laid = stackBoxes(visible, visible.boxes.map((box) => sizeOf(hierarchy, box)));
  const record = recordAt(run, 0); const values = computeValues(hierarchy, record, norm);
  const fold = 1400;
  const move = <T extends { x: number; y: number }>(p: T): T => ({ ...p, x: p.x + Math.floor(p.y / fold) * 420, y: p.y % fold });
  const layout = { ...laid, boxes: laid.boxes.map((r) => move({ ...r, height: Math.min(r.height, 120) })), edges: laid.edges.map((e) => e.map(move)) };
  const s0 = performance.now(); const scene = buildScene(hierarchy, visible, layout); const s1 = performance.now();
  const paints = paintScene(hierarchy, visible, scene, makeScale(norm, [1e-3, 1], LIGHT), norm, LIGHT, values, record); const s2 = performance.now();
  const canvas = document.createElement("canvas"); Object.assign(canvas, { width: 1280, height: 800 }); document.body.append(canvas);
  const context = canvas.getContext("2d", { alpha: false })!;
  const lit = lightPath(hierarchy, visible, visible.boxes.findIndex((b) => b.node > 2000));
  const out: string[] = [`boxes ${visible.boxes.length} edges ${visible.edges.length} hierarchy ${(b1 - b0).toFixed(0)} scene ${(s1 - s0).toFixed(0)} paints ${(s2 - s1).toFixed(0)}`];
  const t0 = performance.now(); for (let i = 0; i < 20; i++) lightPath(hierarchy, visible, 2500 + i); out.push(`lightPath ${((performance.now() - t0) / 20).toFixed(2)} ms`);
  for (const k of [0.05, 0.1, 0.2, 0.4, 0.6, 1]) for (const l of [undefined, lit]) {
    const times: number[] = []; const frames: number[] = []; let last = 0;
    for (let f = 0; f < 60; f++) {
      await new Promise((r) => requestAnimationFrame((t) => { if (last) frames.push(t - last); last = t; r(0); }));
      const a = performance.now();
      paint(context, scene, paints, LIGHT, { camera: { x: 20 - f * 6, y: 10 - f * 2, k }, size: { width: 1280, height: 800 }, pixelRatio: 1, backward: true, selected: -1, hovered: l ? 2500 : -1, edge: -1, lit: l });
      times.push(performance.now() - a);
    }
    times.sort((a, b) => a - b); frames.sort((a, b) => a - b);
    const inView = scene.boxes.filter(({ rectWorld: r }) => r.x * k + 20 < 1280 && (r.x + r.width) * k + 20 > 0 && r.y * k + 10 < 800).length;
    out.push(`k ${k} lit ${l !== undefined} in view ${inView} paint p50 ${times[30]!.toFixed(1)} p95 ${times[57]!.toFixed(1)} frame p50 ${frames[29]!.toFixed(1)} p95 ${frames[56]!.toFixed(1)}`);
  }
  console.log(out.join("\n"));
  void chain;
}, 120000);
