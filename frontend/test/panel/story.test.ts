// A story: views are marked, named, put in order, kept, and saved as one file.

import { afterEach, expect, test } from "vitest";
import { chainRule, flow, HOSTILE, hostile, training } from "../../fixtures/examples.mjs";
import { readHash, writeHash } from "../../src/panel/session/host";
import { storyHtml, storyMarkdown, withinLimit, type StoryPart } from "../../src/panel/story/story_page";
import { linkOf, ownLinkIn, parseAddress } from "../../src/state/address";
import { linkedText, MOST_MARKS, readLinked, readMarks } from "../../src/state/story";
import { useDownloads } from "../downloads";
import { press, useStage, waitFor } from "../stage";

const stage = useStage();
const saved = useDownloads();

afterEach(() => {
  localStorage.removeItem("gradgraph.story");
});

const rows = (): readonly HTMLElement[] => [...stage.place.querySelectorAll<HTMLElement>("[data-testid=mark]")];
const lineOf = (row: HTMLElement | undefined): HTMLInputElement => row!.querySelector("input")!;
const lines = (): readonly string[] => rows().map((row) => lineOf(row).value);
const control = (row: number, id: string): HTMLButtonElement => rows()[row]!.querySelector(`[data-testid=${id}]`)!;

// Marks the shown view by its key, and gives it a line.
async function mark(line: string): Promise<void> {
  const before = rows().length;
  press("m");
  await waitFor(() => expect(rows()).toHaveLength(before + 1));
  await waitFor(() => expect(document.activeElement).toBe(lineOf(rows().at(-1))));
  const input = lineOf(rows().at(-1));
  input.value = line;
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

async function openList(): Promise<void> {
  if (stage.one("story-list") === null) stage.one("story")!.click();
  await waitFor(() => expect(stage.one("story-list")).not.toBeNull());
}

test("a mark has the view's link, numbers and picture, and leads back to it", async () => {
  writeHash("p.gradgraph.sel=parameter%3Aw&p.gradgraph.step=10");
  stage.show(training());
  await stage.drawn("parameter:w");
  press("m");
  await waitFor(() => expect(rows()).toHaveLength(1));
  expect(lineOf(rows()[0]).value).toMatch(/^w, step 10$/);
  await waitFor(() => expect(rows()[0]!.querySelector("img")?.src).toMatch(/^data:image\/png;base64,/));
  await waitFor(() => expect(rows()[0]!.querySelector("img")?.naturalWidth ?? 0).toBeGreaterThan(100));
  press("Escape");
  await waitFor(() => expect(stage.one("story-list")).toBeNull());
  press("Home");
  press("Escape");
  await waitFor(() => expect(stage.one("card")).toBeNull());
  await openList();
  control(0, "mark-go").click();
  await waitFor(() => expect(stage.one("card")?.dataset.key).toBe("parameter:w"));
  await waitFor(() => expect((stage.one("step") as HTMLInputElement).value).toBe("10"));
});

test("marks are renamed, ordered, deleted, brought back, and kept for the next visit and in the link", async () => {
  stage.show(chainRule());
  await stage.drawn("leaf:x");
  for (const line of ["one", "two", "three"]) await mark(line);
  control(2, "mark-up").click();
  await waitFor(() => expect(lines()).toEqual(["one", "three", "two"]));
  expect([control(0, "mark-up").disabled, control(2, "mark-down").disabled]).toEqual([true, true]);
  await waitFor(() => expect(document.activeElement).toBe(control(1, "mark-up")));
  control(0, "mark-remove").click();
  await waitFor(() => expect(lines()).toEqual(["three", "two"]));
  await waitFor(() => expect(document.activeElement).toBe(stage.one("undo-remove")));
  stage.one("undo-remove")!.click();
  await waitFor(() => expect(lines()).toEqual(["one", "three", "two"]));
  // A deleted mark comes back with its picture after the list was closed, too.
  control(0, "mark-remove").click();
  await waitFor(() => expect(lines()).toEqual(["three", "two"]));
  press("Escape");
  await waitFor(() => expect(stage.one("story-list")).toBeNull());
  await openList();
  stage.one("undo-remove")!.click();
  await waitFor(() => expect(rows().filter((row) => row.querySelector("img") !== null)).toHaveLength(3));
  control(0, "mark-remove").click();
  await waitFor(() => expect(readLinked(parseAddress(readHash()).marks).map(({ line }) => line)).toEqual(["three", "two"]));

  const link = readHash();
  writeHash("");
  stage.show(chainRule());
  await stage.drawn("leaf:x");
  await openList();
  await waitFor(() => expect(lines()).toEqual(["three", "two"]));
  await waitFor(() => expect(rows()[0]!.querySelector("img")).not.toBeNull());

  // The next reader has the link alone.
  localStorage.removeItem("gradgraph.story");
  writeHash(link);
  stage.show(chainRule());
  await stage.drawn("leaf:x");
  await openList();
  await waitFor(() => expect(lines()).toEqual(["three", "two"]));
  expect(rows()[0]!.querySelector("img")).toBeNull();
  control(0, "mark-renew").click();
  await waitFor(() => expect(rows()[0]!.querySelector("img")).not.toBeNull());
});

test("a link that lags behind adds no second mark, and one that somebody changed does", async () => {
  stage.show(chainRule());
  await stage.drawn("leaf:x");
  await mark("began here");
  await waitFor(() => expect(readLinked(parseAddress(readHash()).marks)).toMatchObject([{ line: "began here" }]));
  const link = readHash();
  const withLine = (line: string): string => link.replace("began%20here", encodeURIComponent(line));
  for (const [line, expected] of [
    ["began", ["began here"]],
    ["", ["began here"]],
    ["began there", ["began here", "began there"]],
  ] as const) {
    writeHash(withLine(line));
    stage.show(chainRule());
    await stage.drawn("leaf:x");
    await openList();
    await waitFor(() => expect(lines()).toEqual(expected));
  }
});

test("another log does not show them, and leaves them in the browser", async () => {
  stage.show(chainRule());
  await stage.drawn("leaf:x");
  await mark("mine");
  await waitFor(() => expect(readMarks(localStorage.getItem("gradgraph.story"))).toMatchObject([{ line: "mine" }]));
  writeHash("");
  stage.show(training());
  await stage.drawn("parameter:w");
  await mark("theirs");
  expect(lines()).toEqual(["theirs"]);
  await waitFor(() => expect(readMarks(localStorage.getItem("gradgraph.story")).map(({ line }) => line)).toEqual(["mine", "theirs"]));
});

test.each(["view-graph", "view-flow", "view-charts"])("%s is marked with a picture of itself", async (view) => {
  writeHash("p.gradgraph.sel=parameter%3Aup.weight&p.gradgraph.flow.area=20%3A40%0Aparameter%3Aup.weight%0Aparameter%3Adown.weight");
  stage.show(flow());
  await stage.drawn("up#0");
  stage.one(view)!.click();
  if (view === "view-flow") await waitFor(() => expect(stage.place.querySelector("[data-testid=flow-area] tbody tr")).not.toBeNull());
  if (view === "view-charts")
    await waitFor(() => expect(stage.place.querySelector("[data-testid=charts-lines] [data-line]")).not.toBeNull());
  await mark("here");
  await waitFor(() => expect(rows()[0]!.querySelector("img")?.naturalWidth ?? 0).toBeGreaterThan(100));
  stage.one("story-html")!.click();
  await waitFor(() => expect(saved).toHaveLength(1));
  const page = new DOMParser().parseFromString(await saved[0]!.blob.text(), "text/html");
  const facts = new Map([...page.querySelectorAll("dt")].map((dt) => [dt.textContent, dt.nextElementSibling?.textContent]));
  expect(facts.get("View")).toBe(stage.one(view)!.textContent);
  expect(facts.get("Steps")).toBe(view === "view-flow" ? "20 to 40" : undefined);
  expect(facts.get("Lines")).toBe(view === "view-charts" ? "up.weight" : undefined);
});

test("a file has every mark with its line, picture, numbers and link, and names as text", async () => {
  stage.show(hostile());
  await waitFor(() => expect(stage.keys().length).toBeGreaterThan(0));
  await mark(HOSTILE);
  await mark("second");
  stage.one("story-html")!.click();
  stage.one("story-md")!.click();
  await waitFor(() => expect(saved.map(({ name }) => name).sort()).toEqual(["gradgraph-story.html", "gradgraph-story.md"]));
  const text = await saved.find(({ name }) => name.endsWith("html"))!.blob.text();
  const page = new DOMParser().parseFromString(text, "text/html");
  expect(page.querySelectorAll("section")).toHaveLength(2);
  expect(page.querySelector("h2")!.textContent).toBe(`1. ${HOSTILE}`);
  expect(page.querySelectorAll("script, iframe, [onerror], [onload]")).toHaveLength(0);
  expect(page.querySelectorAll('img[src^="data:image/png;base64,"]')).toHaveLength(2);
  const links = [...page.querySelectorAll<HTMLAnchorElement>("a")].map(({ href }) => parseAddress(new URL(href).hash));
  expect(links.map(({ run, marks }) => [run, marks])).toEqual(Array(2).fill([hostile().run, undefined]));
  const markdown = await saved.find(({ name }) => name.endsWith("md"))!.blob.text();
  expect(markdown.match(/^!\[.*\]\(data:image\/png;base64,[\w+/=]+\)$/gm)).toHaveLength(2);
  expect(markdown).not.toMatch(/(?<!\\)<(?!http)/);
});

const part = (more: Partial<StoryPart>): StoryPart => ({ line: "", facts: [], picture: undefined, address: "http://here/#a", ...more });

test("texts stay texts in both kinds of file", () => {
  const line = '</h2><script>alert(1)</script> [x](javascript:alert(1)) `code` www.a.b http://c.d\n# no heading \u202e"';
  const page = new DOMParser().parseFromString(storyHtml(line, [part({ line, facts: [[line, line]] })]), "text/html");
  expect([page.scripts.length, page.title.includes("<script>"), page.querySelector("dd")!.textContent]).toEqual([0, true, line]);
  const markdown = storyMarkdown("t", [part({ line, facts: [[line, line]], address: "http://here/#a>b c" })]);
  expect(markdown.split("\n").filter((one) => /^#/.test(one))).toHaveLength(2);
  expect(markdown).toContain("\\</h2\\>\\<script\\>");
  expect(markdown).toContain("\\[x\\]\\(javascript\\:alert\\(1\\)\\)");
  expect(markdown).toContain("www\\.a.b http\\://c.d");
  expect(markdown).toContain("(<http://here/#a%3Eb%20c>)");
});

test("a file and a link have limits, and what others wrote is checked", () => {
  const large = "x".repeat(20_000_000);
  expect(withinLimit([part({ picture: large }), part({ picture: large })]).map(({ picture }) => picture?.length)).toEqual([
    20_000_000,
    undefined,
  ]);
  expect(linkedText([])).toBeUndefined();
  expect(linkedText([{ line: "x".repeat(300), link: "y".repeat(3000), facts: [] }])).toBeUndefined();
  const marked = { line: "a", link: "run=b%26&step=3", facts: [["Step", "3"]] as const };
  expect(readLinked(linkedText([marked]))).toEqual([marked]);
  expect(readLinked("{")).toEqual([]);
  expect(readLinked('[1, [2], ["a", 3], ["a", "b", [["c"], [1, 2], ["d", "e"]]]]')).toEqual([
    { line: "a", link: "b", facts: [["d", "e"]] },
  ]);
  expect(readLinked(JSON.stringify(Array(99).fill(["a", "b", []])))).toHaveLength(MOST_MARKS);
  expect(readLinked(JSON.stringify([["a".repeat(999), "b", []]]))[0]!.line).toHaveLength(300);
  expect(readMarks('[{"id": 1}, null, {"id": "i", "training": "t", "line": "l", "link": "k"}]')).toEqual([
    { id: "i", training: "t", line: "l", link: "k", facts: [] },
  ]);
  expect(parseAddress(linkOf(marked.link))).toMatchObject({ run: "b&", step: 3 });
  expect(ownLinkIn("#gradgraph&p.gradgraph.run=old", marked.link)).toBe("gradgraph&p.gradgraph.run=b%26&p.gradgraph.step=3");
});
