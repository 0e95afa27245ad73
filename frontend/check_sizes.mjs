// Holds the size of the built panel, as it is sent: gzip, kilobytes of 1000 bytes.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const STATIC = "../tb_gradgraph/static";
const ENTRY = "index.js"; // it imports the panel at run time, at once
const CAPS_KB = { "at the start": 160, "on demand": 120, "layout worker": 480 };

const NAME = String.raw`["'\`]\./([\w.-]+\.js)["'\`]`;
const AT_ONCE = new RegExp(String.raw`(?:\bfrom|\bimport)\s*${NAME}`, "g");
const LATER = new RegExp(String.raw`\bimport\(\s*${NAME}`, "g");

const texts = new Map(readdirSync(STATIC).map((name) => [name, readFileSync(join(STATIC, name), "utf8")]));
const named = (name, pattern) => [...texts.get(name).matchAll(pattern)].map((found) => found[1]);
const start = new Set([ENTRY]);
for (const name of named(ENTRY, LATER)) start.add(name);
for (const name of start) for (const other of named(name, AT_ONCE)) start.add(other);

// What only exported files hold is never sent.
const sent = [...texts.keys()].filter((name) => name !== "standalone.js");
const groupOf = (name) => (name.startsWith("layout.worker") ? "layout worker" : start.has(name) ? "at the start" : "on demand");
let over = false;
for (const [group, cap] of Object.entries(CAPS_KB)) {
  const kb = sent
    .filter((name) => groupOf(name) === group)
    .reduce((sum, name) => sum + gzipSync(texts.get(name), { level: 9 }).length / 1000, 0);
  console.log(`${group}: ${kb.toFixed(1)} of ${cap} kB gz`);
  over ||= kb > cap || kb === 0;
}
process.exit(over ? 1 : 0);
