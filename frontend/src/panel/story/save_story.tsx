// Buttons that save the story as one file.

import type { JSX } from "preact";
import { runTitle } from "../../model/recorded/run";
import { linkOf, ownLinkIn, parseAddress } from "../../state/address";
import type { Store } from "../../state/store";
import type { Mark } from "../../state/story";
import { saveFile } from "../picture/download";
import { pageAddress, readHash } from "../session/host";
import { readPicture } from "./picture_shelf";
import { storyHtml, storyMarkdown, withinLimit, type StoryPart } from "./story_page";

export function SaveStory({ store }: { readonly store: Store }): JSX.Element {
  const marks = store.story.marks.value;
  const save = async (format: "html" | "md"): Promise<void> => {
    const all = await Promise.all(marks.map(partOf));
    const parts = withinLimit(all);
    const [title, name] = [titleOfStory(marks), "gradgraph-story"];
    const text = format === "html" ? storyHtml(title, parts) : storyMarkdown(title, parts);
    saveFile(`${name}.${format}`, new Blob([text], { type: format === "html" ? "text/html" : "text/markdown" }));
    const lost = parts.filter(({ picture }, i) => picture !== all[i]!.picture).length;
    if (lost > 0) store.shown.notice.value = `The last ${lost} pictures were left out, because the file would be too large.`;
  };
  return (
    <section>
      <h3 aria-level={2}>
        The story, {marks.length} {marks.length === 1 ? "mark" : "marks"}
      </h3>
      <button
        type="button"
        class="action"
        data-testid="story-html"
        title="One page that needs nothing else"
        onClick={() => void save("html")}
      >
        HTML
      </button>
      <button type="button" class="action" data-testid="story-md" title="Markdown, with the pictures in it" onClick={() => void save("md")}>
        Markdown
      </button>
    </section>
  );
}

async function partOf({ id, line, facts, link }: Mark): Promise<StoryPart> {
  return { line, facts, picture: await readPicture(id), address: `${pageAddress()}#${ownLinkIn(readHash(), link)}` };
}

function titleOfStory(marks: readonly Mark[]): string {
  const places = marks.map(({ link }) => parseAddress(linkOf(link))).map(({ run, tag }) => [runTitle(run), tag ?? ""].join(" · "));
  return `Gradients of ${[...new Set(places)].slice(0, 4).join(", ")}`;
}
