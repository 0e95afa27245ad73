// The view as keys of the address, `p.gradgraph.run=...`, so that a link opens the
// same view. Keys of others are kept as they are.

export const PREFIX = "p.gradgraph.";

export type Direction = "forward" | "backward";

export type View = "graph" | "flow";

export interface Address {
  readonly view?: View | undefined;
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
  readonly scalar?: string | undefined;
  readonly colors?: string | undefined;
  readonly follow?: boolean | undefined; // then the step is the last one
}

// Longer lists of open groups are not worth an unreadable link.
const LONGEST_OPEN = 800;

export function parseAddress(hash: string): Address {
  const values = new Map<string, string>();
  for (const part of splitHash(hash)) {
    if (!part.startsWith(PREFIX)) continue;
    const at = part.indexOf("=");
    if (at !== -1) values.set(part.slice(PREFIX.length, at), decode(part.slice(at + 1)));
  }
  const dir = values.get("dir");
  const open = values.get("open");
  return {
    view: values.get("view") === "flow" ? "flow" : undefined,
    run: values.get("run"),
    tag: values.get("tag"),
    step: integer(values.get("step")),
    pass: integer(values.get("pass")),
    stage: values.get("stage"),
    hash: values.get("hash"),
    stat: values.get("stat"),
    dir: dir === "forward" || dir === "backward" ? dir : undefined,
    sel: values.get("sel"),
    open: open === undefined ? undefined : open.split("\n").filter((id) => id !== ""),
    scalar: values.get("scalar"),
    colors: values.get("colors"),
    follow: values.get("follow") === "1" ? true : undefined,
  };
}

// The same hash with our keys replaced by those of `address`.
export function formatAddress(hash: string, address: Address): string {
  const kept = splitHash(hash).filter((part) => !part.startsWith(PREFIX));
  const open = address.open?.join("\n");
  const entries: readonly (readonly [string, string | number | undefined])[] = [
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
    ["scalar", address.scalar],
    ["colors", address.colors],
    ["follow", address.follow === true ? 1 : undefined],
  ];
  const own = entries.flatMap(([name, value]) =>
    value === undefined ? [] : [`${PREFIX}${name}=${encodeURIComponent(value)}`],
  );
  return [...kept, ...own].join("&");
}

function splitHash(hash: string): readonly string[] {
  return hash.replace(/^#/, "").split("&").filter((part) => part !== "");
}

// A hand-made link may hold a stray "%": then it is taken as it is.
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
