// Proves that tb_gradgraph/static is what the sources build, byte for byte.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "vite";

const COMMITTED = "../tb_gradgraph/static";
const fresh = mkdtempSync(join(tmpdir(), "panel-"));
await build({ logLevel: "error", build: { outDir: fresh, emptyOutDir: true } });

const names = new Set([...readdirSync(COMMITTED), ...readdirSync(fresh)]);
const different = [...names].filter((name) => read(COMMITTED, name) !== read(fresh, name));
rmSync(fresh, { recursive: true });
if (different.length > 0) {
  console.error(`tb_gradgraph/static is stale: ${different.join(", ")}. Run "npm run build" and commit the result.`);
  process.exit(1);
}
console.log(`tb_gradgraph/static is what the sources build (${names.size} files).`);

function read(folder, name) {
  try {
    return readFileSync(join(folder, name), "latin1");
  } catch {
    return undefined;
  }
}
