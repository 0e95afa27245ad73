// The view as keys of the address, `p.gradgraph.run=...`, so that a link opens the
// same view. Keys of others are kept as they are.

export const PREFIX = "p.gradgraph.";

export type Direction = "forward" | "backward";

export interface Address {
  readonly view?: string | undefined; // id of a view
  readonly run?: string | undefined;
  readonly tag?: string | undefined;
  readonly step?: number | undefined;
  readonly pass?: number | undefined;
  readonly stage?: string | undefined;
  readonly hash?: string | undefined;
  readonly stat?: string | undefined;
  readonly dir?: Direction | undefined;
  readonly sel?: string | undefined;
  readonly open?: readonly string[] | undefined;
  readonly turned?: readonly string[] | undefined; // tensors drawn contrary to the default: once, or next to each use
  readonly colors?: string | undefined;
  readonly follow?: boolean | undefined; // if true, the step is the last one
  readonly sessions?: boolean | undefined; // hidden sessions are shown too
  readonly purpose?: readonly string[] | undefined; // findings of the run that are so on purpose
  readonly marks?: string | undefined; // the story as one text
  readonly vs?: Versus | undefined;
}

// The other side of the comparison. A missing part is the same as on the shown side.
export interface Versus {
  readonly run: string | undefined;
  readonly tag: string | undefined;
  readonly step: number | undefined;
  readonly reach: number | undefined;
  readonly runs?: GroupOfRuns | undefined;
}

// Several runs on the other side: these, or all that have the same graph.
export type GroupOfRuns = readonly string[] | "every";

// A key without our prefix, and its value; without one it is left out.
export type LinkEntry = readonly [string, string | number | undefined];

// Longer lists of open groups are left out, because they make a link unreadable.
const LONGEST_OPEN = 800;
const LONGEST_LIST = 2000;

// Our keys without their prefix. Views read their own parts from these.
export function readValues(hash: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const part of splitHash(hash)) {
    if (!part.startsWith(PREFIX)) continue;
    const at = part.indexOf("=");
    if (at !== -1) values.set(part.slice(PREFIX.length, at), decode(part.slice(at + 1)));
  }
  return values;
}

export function parseAddress(hash: string): Address {
  const values = readValues(hash);
  const dir = values.get("dir");
  return {
    view: values.get("view"),
    run: values.get("run"),
    tag: values.get("tag"),
    step: integer(values.get("step")),
    pass: integer(values.get("pass")),
    stage: values.get("stage"),
    hash: values.get("hash"),
    stat: values.get("stat"),
    dir: dir === "forward" || dir === "backward" ? dir : undefined,
    sel: values.get("sel"),
    open: listOf(values.get("open")),
    turned: listOf(values.get("turned")),
    purpose: listOf(values.get("purpose")),
    marks: values.get("marks"),
    colors: values.get("colors"),
    follow: values.get("follow") === "1" ? true : undefined,
    sessions: values.get("sessions") === "all" ? true : undefined,
    vs: versusOf(values),
  };
}

// The same hash with our keys replaced by those of `address` and by what the views add.
export function formatAddress(hash: string, address: Address, ofViews: readonly LinkEntry[] = []): string {
  const kept = splitHash(hash).filter((part) => !part.startsWith(PREFIX));
  const open = address.open?.join("\n");
  const entries: readonly LinkEntry[] = [
    ["view", address.view],
    ["run", address.run],
    ["tag", address.tag],
    ["step", address.step],
    ["pass", address.pass],
    ["stage", address.stage],
    ["hash", address.hash],
    ["stat", address.stat],
    ["dir", address.dir],
    ["sel", address.sel],
    ["open", open === undefined || open.length > LONGEST_OPEN ? undefined : open],
    ["turned", listed(address.turned ?? [])],
    ["purpose", listed(address.purpose ?? [])],
    ["marks", address.marks],
    ["colors", address.colors],
    ["follow", address.follow === true ? 1 : undefined],
    ["sessions", address.sessions === true ? "all" : undefined],
    ...versusEntries(address.vs),
    ...ofViews,
  ];
  const own = entries.flatMap(([name, value]) => (value === undefined ? [] : [`${PREFIX}${name}=${encodeURIComponent(value)}`]));
  return [...kept, ...own].join("&");
}

// Our keys without their prefix, as a hash.
export function linkOf(bare: string): string {
  return splitHash(bare)
    .map((part) => PREFIX + part)
    .join("&");
}

// The same hash with our keys replaced by such keys.
export function ownLinkIn(hash: string, bare: string): string {
  return [...splitHash(hash).filter((part) => !part.startsWith(PREFIX)), linkOf(bare)].join("&");
}

// The step is always present, because it shows that there is a comparison.
function versusOf(values: ReadonlyMap<string, string>): Versus | undefined {
  const step = values.get("vs.step");
  if (step === undefined) return undefined;
  const every = values.get("vs.group") === "every";
  return {
    run: values.get("vs.run"),
    tag: values.get("vs.tag"),
    step: integer(step),
    reach: integer(values.get("vs.reach")),
    runs: every ? "every" : listOf(values.get("vs.runs")),
  };
}

function versusEntries(vs: Versus | undefined): readonly LinkEntry[] {
  return vs === undefined
    ? []
    : [
        ["vs.run", vs.run],
        ["vs.tag", vs.tag],
        ["vs.step", vs.step ?? "same"],
        ["vs.reach", vs.reach],
        ["vs.group", vs.runs === "every" ? vs.runs : undefined],
        ["vs.runs", vs.runs === undefined || vs.runs === "every" ? undefined : listed(vs.runs)],
      ];
}

function listOf(text: string | undefined): readonly string[] | undefined {
  return text?.split("\n").filter((name) => name !== "");
}

// A list as one value; a long one is left out.
export function listed(names: readonly string[]): string | undefined {
  const text = names.join("\n");
  return text === "" || text.length > LONGEST_LIST ? undefined : text;
}

function splitHash(hash: string): readonly string[] {
  return hash
    .replace(/^#/, "")
    .split("&")
    .filter((part) => part !== "");
}

// A link written by hand may contain a stray "%". Then the text is used unchanged.
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function integer(text: string | undefined): number | undefined {
  const value = text === undefined || text.trim() === "" ? NaN : Number(text);
  return Number.isSafeInteger(value) ? value : undefined;
}
