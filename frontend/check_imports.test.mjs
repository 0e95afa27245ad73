// Each rule of check_imports.mjs fails where it is broken, and only there: `node --test`.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { problemsIn, ROOMS } from "./check_imports.mjs";

const SMALL = { base: [], model: ["base"], panel: ["model"], ".": ["panel"] };
const SOUND = {
  "src/index.ts": 'void import("./panel/app");',
  "src/base/point.ts": "// No window is needed here.\nexport interface Point { readonly x: number }",
  "src/model/graph.ts": 'import type { Point } from "../base/point";\nexport const at = (point: Point): number => point.x;',
  "src/panel/app.tsx":
    'import style from "./look.css?inline";\nimport { at } from "../model/graph";\nexport const App = () => <p title={style}>{at({ x: 1 })}</p>;',
  "src/panel/look.css": "p { margin: 0; }",
};

function problemsWith(planted, rooms = SMALL) {
  const root = mkdtempSync(join(tmpdir(), "house-"));
  try {
    for (const [path, text] of Object.entries({ ...SOUND, ...planted })) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    return problemsIn(root, rooms);
  } finally {
    rmSync(root, { recursive: true });
  }
}

const numbered = (count, top) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`${top}/file${i}.ts`, "export {};"]));

test("a sound house has no problem", () => assert.deepEqual(problemsWith({}), []));

const BACK = {
  "of a value": 'import { two } from "./two"; export const one = () => two;',
  "of a type": 'import type { Two } from "./two"; export type One = Two;',
  "of a type in line": 'export type One = import("./two").Two;',
  "of all": 'export * from "./two";',
  "of one": 'export { two } from "./two";',
  "at run time": 'export const one = () => import("./two");',
  "of a worker": 'export const one = () => new Worker(new URL("./two.ts", import.meta.url));',
};
for (const [kind, one] of Object.entries(BACK)) {
  test(`a circle by an import ${kind}`, () => {
    const two = 'import type { One } from "./one"; export type Two = One; export const two = 2;';
    const found = problemsWith({ "src/model/one.ts": one, "src/model/two.ts": two });
    assert.deepEqual(found, ["circle: model/one.ts -> model/two.ts -> model/one.ts"]);
  });
}

test("a circle of three files", () => {
  const file = (next) => `import "./${next}"; export {};`;
  const found = problemsWith({ "src/model/a.ts": file("b"), "src/model/b.ts": file("c"), "src/model/c.ts": file("a") });
  assert.deepEqual(found, ["circle: model/a.ts -> model/b.ts -> model/c.ts -> model/a.ts"]);
});

test("a thirteenth file in a folder of sources, a twenty-sixth in one of tests", () => {
  assert.deepEqual(problemsWith(numbered(11, "src/model")), []);
  assert.deepEqual(problemsWith(numbered(12, "src/model")), ["src/model: 13 files, at most 12"]);
  assert.deepEqual(problemsWith(numbered(25, "test/model")), []);
  assert.deepEqual(problemsWith(numbered(26, "test/model")), ["test/model: 26 files, at most 25"]);
});

test("an import upward, and one of a room beside it", () => {
  const up = { "src/base/size.ts": 'import type { at } from "../model/graph"; export type Size = typeof at;' };
  assert.deepEqual(problemsWith(up), ["base/size.ts: must not import model/graph.ts"]);
  const beside = { "src/other/tree.ts": 'import { at } from "../model/graph"; export const tree = at;' };
  assert.deepEqual(problemsWith(beside, { ...SMALL, other: ["base"] }), ["other/tree.ts: must not import model/graph.ts"]);
});

test("what a room stands on may be imported through several floors", () => {
  assert.deepEqual(problemsWith({ "src/panel/size.ts": 'export type { Point } from "../base/point";' }), []);
});

test("two files with one name, whatever they end with; each folder may have an index", () => {
  assert.deepEqual(problemsWith({ "src/panel/graph.css": "" }), ["panel/graph.css: has the name of model/graph.ts"]);
  assert.deepEqual(problemsWith({ "src/panel/index.ts": "export {};" }), []);
});

test("a room that is not in the list, one that is gone, one in the wrong order", () => {
  assert.deepEqual(problemsWith({ "src/attic/box.ts": "export {};" }), ["attic: not a known room"]);
  assert.deepEqual(problemsWith({}, { ...SMALL, attic: [] }), ["attic: no such room"]);
  assert.throws(() => problemsWith({}, { model: ["base"], base: [] }), /model stands on base, which must come before it/);
});

test("views never import each other, and no layer below knows the panel", () => {
  const order = Object.keys(ROOMS);
  const reach = (room) => new Set([room, ...ROOMS[room].flatMap((one) => [...reach(one)])]);
  const views = ["panel/graph", "panel/flow", "panel/charts", "panel/card"];
  for (const view of views)
    assert.deepEqual(
      views.filter((other) => reach(view).has(other)),
      [view],
    );
  for (const room of order.filter((one) => !/^(panel|\.)/.test(one))) {
    assert.deepEqual(
      [...reach(room)].filter((one) => one.startsWith("panel")),
      [],
    );
  }
});

test("no DOM below, no any, no HTML from names, no long file", () => {
  assert.deepEqual(problemsWith({ "src/model/width.ts": "export const width = () => window.innerWidth;" }), [
    "model/width.ts: no DOM here",
  ]);
  assert.deepEqual(problemsWith({ "src/panel/width.ts": "export const width = () => window.innerWidth;" }), []);
  assert.deepEqual(problemsWith({ "src/panel/cast.ts": "export const cast = (it: unknown) => it as any;" }), ["panel/cast.ts: no any"]);
  const html = "export const put = (at: Element, name: string) => void (at.innerHTML = name);";
  assert.deepEqual(problemsWith({ "src/panel/put.ts": html }), ["panel/put.ts: names are user data, no HTML"]);
  assert.deepEqual(problemsWith({ "src/panel/long.css": "\n".repeat(249) }), []);
  assert.deepEqual(problemsWith({ "src/panel/long.css": "\n".repeat(250) }), ["panel/long.css: 251 lines, at most 250"]);
});
