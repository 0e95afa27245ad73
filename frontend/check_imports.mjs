// Holds how src is built: who imports whom, no circle, few files in a folder, one name for one thing.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { parseSync, Visitor } from "vite";

// The rooms from the ground up, each with the ones it stands on. It may import these and all that they stand on.
export const ROOMS = {
  base: [],
  "model/recorded": ["base"],
  "model/tree": ["model/recorded"],
  "model/visible": ["model/tree"],
  "model/compare": ["model/visible"],
  "model/flow": ["model/compare"],
  "model/charts": ["model/flow"],
  "model/findings": ["model/recorded"],
  api: ["model/flow", "model/findings", "model/charts"],
  "layout/places": ["model/visible"],
  "layout/levels": ["layout/places"],
  layout: ["layout/levels"],
  state: ["model/flow", "model/findings"],
  "draw/style": ["model/visible"],
  "draw/scene": ["draw/style", "layout"],
  "draw/graph": ["draw/scene"],
  "draw/camera": ["draw/graph"],
  "draw/compare": ["draw/graph", "model/compare"],
  "draw/flow": ["draw/compare", "model/flow"],
  "draw/charts": ["draw/style", "model/charts"],
  "panel/session": ["api", "state", "draw/compare"],
  "panel/controls": ["state", "draw/compare"],
  "panel/chart": ["panel/session", "panel/controls", "draw/charts"],
  "panel/picture": ["panel/chart"],
  "panel/view": ["panel/picture"],
  "panel/graph/tree": ["panel/picture"],
  "panel/graph": ["panel/view", "panel/graph/tree", "draw/camera"],
  "panel/findings": ["panel/view"],
  "panel/flow/data": ["panel/view", "draw/flow"],
  "panel/flow/rows": ["panel/flow/data"],
  "panel/flow/area": ["panel/flow/data"],
  "panel/flow": ["panel/flow/rows", "panel/flow/area", "panel/findings"],
  "panel/charts/layers": ["panel/view", "draw/flow"],
  "panel/charts": ["panel/charts/layers"],
  "panel/card/sections": ["panel/view"],
  "panel/card": ["panel/card/sections"],
  "panel/story": ["panel/view"],
  "panel/toolbar": ["panel/findings", "panel/story"],
  panel: ["panel/graph", "panel/flow", "panel/charts", "panel/toolbar", "panel/card"],
  ".": ["panel"],
};

const MOST_FILES = { src: 12, test: 25 }; // in a folder
const LONGEST = 250;
const WITHOUT_DOM = /^(base|model)\//;
const DOM = /\b(document|window|HTMLElement|localStorage)\b/;
const HTML = /innerHTML|insertAdjacentHTML|dangerouslySetInnerHTML/;

// Which rules are broken below the folder `root`, which holds src and perhaps test, in a line each.
export function problemsIn(root, rooms = ROOMS) {
  const texts = new Map(filesIn(join(root, "src")).map((file) => [file, readFileSync(join(root, "src", file), "utf8")]));
  const parsed = [...texts].filter(([file]) => /\.tsx?$/.test(file)).map(([file, text]) => [file, parse(file, text)]);
  const imports = new Map(parsed.map(([file, { specifiers }]) => [file, specifiers.map((one) => resolve(file, one, texts))]));
  return [
    ...Object.keys(MOST_FILES).flatMap((top) => fullFolders(root, top)),
    ...doubledNames([...texts.keys()]),
    ...[...texts].flatMap(([file, text]) => textProblems(file, text)),
    ...parsed.filter(([, { any }]) => any).map(([file]) => `${file}: no any`),
    ...roomProblems([...texts.keys()], rooms),
    ...forbiddenImports(imports, reachOf(rooms)),
    ...circlesIn(imports),
  ];
}

function filesIn(folder) {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => relative(folder, join(parentPath, name)).replaceAll("\\", "/")).sort();
}

// The relative imports of a file, be they of values, of types, at run time or of a worker, and whether it says `any`.
function parse(file, text) {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
  const specifiers = [];
  let any = false;
  const take = ({ source }) => void specifiers.push(source?.value);
  new Visitor({
    ImportDeclaration: take,
    ExportAllDeclaration: take,
    ExportNamedDeclaration: take,
    ImportExpression: take,
    TSImportType: take,
    NewExpression: ({ callee, arguments: [source] }) => callee.name === "URL" && take({ source }),
    TSAnyKeyword: () => void (any = true),
  }).visit(program);
  return { specifiers: specifiers.filter((one) => /^\.\.?\//.test(one)), any };
}

function resolve(from, specifier, texts) {
  const path = join(dirname(from), specifier.replace(/\?.*$/, "")).replaceAll("\\", "/");
  return ["", ".ts", ".tsx"].map((end) => path + end).find((file) => texts.has(file)) ?? path;
}

function fullFolders(root, top) {
  const counts = new Map();
  for (const file of filesIn(join(root, top))) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  const full = [...counts].filter(([, count]) => count > MOST_FILES[top]);
  return full.map(([folder, count]) => `${top}/${folder}: ${count} files, at most ${MOST_FILES[top]}`);
}

function doubledNames(files) {
  const first = new Map();
  return files.flatMap((file) => {
    const name = basename(file).replace(/\..*$/, "");
    if (name === "index") return [];
    if (!first.has(name)) first.set(name, file);
    return first.get(name) === file ? [] : [`${file}: has the name of ${first.get(name)}`];
  });
}

function textProblems(file, text) {
  const lines = text.split("\n");
  const code = lines.filter((line) => !line.trim().startsWith("//")).join("\n");
  return [
    ...(lines.length > LONGEST ? [`${file}: ${lines.length} lines, at most ${LONGEST}`] : []),
    ...(WITHOUT_DOM.test(file) && DOM.test(code) ? [`${file}: no DOM here`] : []),
    ...(HTML.test(code) ? [`${file}: names are user data, no HTML`] : []),
  ];
}

function roomProblems(files, rooms) {
  const found = new Set(files.map(dirname));
  return [
    ...[...found].filter((room) => !(room in rooms)).map((room) => `${room}: not a known room`),
    ...Object.keys(rooms)
      .filter((room) => !found.has(room))
      .map((room) => `${room}: no such room`),
  ];
}

// Each room with every room that it may import. It stands on earlier ones only: so there is no circle of rooms either.
function reachOf(rooms) {
  const reach = new Map();
  for (const [room, below] of Object.entries(rooms)) {
    const later = below.find((one) => !reach.has(one));
    if (later !== undefined) throw new Error(`${room} stands on ${later}, which must come before it in the list.`);
    reach.set(room, new Set([room, ...below.flatMap((one) => [...reach.get(one)])]));
  }
  return reach;
}

function forbiddenImports(imports, reach) {
  return [...imports].flatMap(([file, others]) => {
    const allowed = reach.get(dirname(file));
    const forbidden = allowed === undefined ? [] : others.filter((other) => !allowed.has(dirname(other)));
    return forbidden.map((other) => `${file}: must not import ${other}`);
  });
}

// Depth first: a circle for each import that leads back to a file on the way.
function circlesIn(imports) {
  const circles = [];
  const done = new Set();
  const visit = (file, way) => {
    if (way.includes(file)) circles.push(`circle: ${[...way.slice(way.indexOf(file)), file].join(" -> ")}`);
    else if (!done.has(file)) for (const other of imports.get(file) ?? []) visit(other, [...way, file]);
    done.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
  return circles;
}

if (process.argv[1] === import.meta.filename) {
  const problems = problemsIn(import.meta.dirname);
  for (const problem of problems) console.error(problem);
  process.exit(problems.length === 0 ? 0 : 1);
}
