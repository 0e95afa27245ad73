// Finds nodes and modules by any part of their name.

import { useState } from "preact/hooks";
import type { JSX } from "preact";
import type { Hierarchy } from "../model/hierarchy";
import { titleOf } from "./neighbors";

const MOST = 30;

interface Hit {
  readonly id: string;
  readonly title: string;
  readonly where: string;
}

export function Finder({ hierarchy, select }: {
  readonly hierarchy: Hierarchy | undefined;
  readonly select: (id: string) => void;
}): JSX.Element {
  const [text, setText] = useState("");
  const hits = hierarchy === undefined || text.trim() === "" ? [] : find(hierarchy, text.trim().toLowerCase());
  const choose = (id: string): void => {
    setText("");
    select(id);
  };
  return (
    <div class="finder">
      <input type="search" data-testid="find" aria-label="Find a node or module" placeholder="Find…" value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && hits[0] !== undefined) choose(hits[0].id);
          if (event.key === "Escape") setText("");
        }} />
      {text.trim() !== "" && (
        <ul class="popover" data-testid="found">
          {hits.map((hit) => (
            <li key={hit.id}>
              <button type="button" data-key={hit.id} onClick={() => choose(hit.id)}>
                {hit.title} <span class="faint">{hit.where}</span>
              </button>
            </li>
          ))}
          {hits.length === 0 && <li class="faint">Nothing has this in its name.</li>}
        </ul>
      )}
    </div>
  );
}

function find(hierarchy: Hierarchy, text: string): readonly Hit[] {
  const hits: Hit[] = [];
  for (const { id, title, subtitle } of hierarchy.groups) {
    if (hits.length >= MOST) return hits;
    if (`${id} ${title} ${subtitle}`.toLowerCase().includes(text)) hits.push({ id, title, where: subtitle });
  }
  const { key, name, operation, scope } = hierarchy.graph.columns.nodes;
  for (let node = 0; node < key.length && hits.length < MOST; node++) {
    if (!`${key[node]} ${name[node]} ${operation[node]}`.toLowerCase().includes(text)) continue;
    const path = scope[node] === -1 ? "" : hierarchy.graph.columns.scopes.path[scope[node]!]!;
    hits.push({ id: key[node]!, title: titleOf(hierarchy.graph, node), where: path });
  }
  return hits;
}
