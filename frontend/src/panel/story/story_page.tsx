// A story as a file: an HTML page that needs nothing else, or Markdown with its pictures in it.

import { render, type JSX } from "preact";
import type { Fact } from "../../state/story";

export interface StoryPart {
  readonly line: string;
  readonly facts: readonly Fact[];
  readonly picture: string | undefined; // a data address
  readonly address: string; // of the view
}

// Reading programs open files of this size without trouble.
const MOST_PICTURE_CHARACTERS = 30_000_000;

const STYLE = `
  :root { color-scheme: light dark; }
  body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
  section { margin: 2.5rem 0; }
  h2 { font-size: 1.2rem; }
  img { max-width: 100%; height: auto; border: 1px solid #8886; border-radius: 6px; }
  dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; font-size: .9rem; }
  dt { font-weight: 600; }
  dd { margin: 0; }
  @media print { section { break-inside: avoid; } }
`;

// Pictures beyond the limit are left out, from the end.
export function withinLimit(parts: readonly StoryPart[]): readonly StoryPart[] {
  let total = 0;
  return parts.map((part) => ({
    ...part,
    picture: (total += part.picture?.length ?? 0) > MOST_PICTURE_CHARACTERS ? undefined : part.picture,
  }));
}

// All texts become text nodes and attributes of a document: none is read as HTML.
export function storyHtml(title: string, parts: readonly StoryPart[]): string {
  const page = document.implementation.createHTMLDocument(title);
  page.documentElement.lang = "en";
  for (const attributes of [
    { charset: "utf-8" },
    { name: "viewport", content: "width=device-width" },
    { "http-equiv": "Content-Security-Policy", content: "default-src 'none'; img-src data:; style-src 'unsafe-inline'" },
  ]) {
    const meta = page.createElement("meta");
    for (const [name, value] of Object.entries(attributes)) meta.setAttribute(name, value);
    page.head.prepend(meta);
  }
  const style = page.createElement("style");
  style.textContent = STYLE;
  page.head.append(style);
  render(<Story title={title} parts={parts} />, page.body);
  return `<!doctype html>\n${page.documentElement.outerHTML}\n`;
}

function Story({ title, parts }: { readonly title: string; readonly parts: readonly StoryPart[] }): JSX.Element {
  return (
    <main>
      <h1>{title}</h1>
      {parts.map(({ line, facts, picture, address }, i) => (
        <section key={i}>
          <h2>
            {i + 1}. {line}
          </h2>
          {picture !== undefined && <img src={picture} alt={altOf(facts)} />}
          <dl>{facts.map(([label, text], k) => [<dt key={`${k}t`}>{label}</dt>, <dd key={`${k}d`}>{text}</dd>])}</dl>
          <p>
            <a href={address}>Open this view</a>
          </p>
        </section>
      ))}
    </main>
  );
}

const altOf = (facts: readonly Fact[]): string => `Picture: ${facts.map(([label, text]) => `${label} ${text}`).join(", ")}`;

export function storyMarkdown(title: string, parts: readonly StoryPart[]): string {
  const sections = parts.map(({ line, facts, picture, address }, i) =>
    [
      `## ${i + 1}. ${plain(line)}`,
      ...(picture === undefined ? [] : [`![${plain(altOf(facts))}](${picture})`]),
      facts.map(([label, text]) => `- **${plain(label)}:** ${plain(text)}`).join("\n"),
      `[Open this view](<${address.replace(/[<>\s]/g, encodeURIComponent)}>)`,
    ].join("\n\n"),
  );
  return `${[`# ${plain(title)}`, ...sections].join("\n\n")}\n`;
}

// As it reads in Markdown, whatever characters it has: no markup, no HTML, no address that becomes a link.
function plain(text: string): string {
  return text
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, " ")
    .replace(/[\\`*_{}[\]<>()#+!|&~$@:=^-]/g, "\\$&")
    .replace(/\bwww\./gi, (start) => start.replace(".", "\\."));
}
