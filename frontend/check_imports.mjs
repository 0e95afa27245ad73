// Holds the directions in which rooms may import each other, and file sizes.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ALLOWED = {
  base: [],
  model: ["base"],
  api: ["base", "model"],
  layout: ["base", "model"],
  state: ["base", "model"],
  draw: ["base", "model", "layout", "state"],
  panel: ["base", "model", "api", "layout", "state", "draw"],
};
const WITHOUT_DOM = ["base", "model"];
const DOM = /\b(document|window|HTMLElement|localStorage)\b/;
const LONGEST = 250;

const problems = [];
for (const room of readdirSync("src")) {
  if (room.endsWith(".ts")) continue;
  if (!(room in ALLOWED)) problems.push(`src/${room}: not a known room`);
  else for (const file of readdirSync(join("src", room), { recursive: true })) if (/\.\w+$/.test(file)) checkFile(room, file);
}
for (const problem of problems) console.error(problem);
process.exit(problems.length === 0 ? 0 : 1);

function checkFile(room, file) {
  const path = join("src", room, file);
  const text = readFileSync(path, "utf8");
  const lines = text.split("\n");
  if (lines.length > LONGEST) problems.push(`${path}: ${lines.length} lines, at most ${LONGEST}`);
  for (const [, other] of text.matchAll(/from "(?:\.\.\/)+([a-z]+)\//g)) {
    if (other !== room && other in ALLOWED && !ALLOWED[room].includes(other)) problems.push(`${path}: ${room} must not import ${other}`);
  }
  const code = lines.filter((line) => !line.trim().startsWith("//")).join("\n");
  if (WITHOUT_DOM.includes(room) && DOM.test(code)) problems.push(`${path}: ${room} has no DOM`);
  if (/[:<]\s*any\b/.test(code)) problems.push(`${path}: no any`);
  if (/innerHTML|insertAdjacentHTML|dangerouslySetInnerHTML/.test(code)) problems.push(`${path}: names are user data, no HTML`);
}
