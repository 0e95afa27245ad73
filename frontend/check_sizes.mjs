// Holds the size of the built panel, as it is sent: gzip, kilobytes of 1000 bytes.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const STATIC = "../tb_gradgraph/static";
// 159 until the panel showed the findings of a training as a whole (4 kB).
const CAPS_KB = { "without the layout worker": 165, "with the layout worker": 700 };

const sizes = readdirSync(STATIC).map((name) => ({ name, kb: gzipSync(readFileSync(join(STATIC, name)), { level: 9 }).length / 1000 }));
const total = (files) => files.reduce((sum, { kb }) => sum + kb, 0);
const sums = {
  "without the layout worker": total(sizes.filter(({ name }) => !name.startsWith("layout.worker"))),
  "with the layout worker": total(sizes),
};
let over = false;
for (const [what, kb] of Object.entries(sums)) {
  console.log(`${what}: ${kb.toFixed(1)} of ${CAPS_KB[what]} kB gz`);
  over ||= kb > CAPS_KB[what];
}
process.exit(over ? 1 : 0);
