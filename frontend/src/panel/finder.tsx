// Finds nodes and modules by any part of their name.

import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { NO_SCOPE, type Graph } from "../model/graph";
import { calledAgain, foldedAround, type Hierarchy } from "../model/hierarchy";
import { titleOf } from "./neighbors";
import { arrowOf, useDismiss } from "./popover";

const MOST = 30;

interface Hit {
  readonly id: string;
  readonly title: string;
  readonly where: string; // full path, so that no two entries are the same
}

export function Finder({ hierarchy, select }: {
  readonly hierarchy: Hierarchy | undefined;
  readonly select: (id: string) => void;
}): JSX.Element {
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const place = useRef<HTMLDivElement>(null);
  const query = text.trim().toLowerCase();
  const hits = hierarchy === undefined || query === "" ? [] : find(hierarchy, query);
  const type = (now: string): void => {
    setText(now);
    setActive(0);
  };
  useDismiss(place, query !== "", () => type(""));
  useEffect(() => place.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }), [active]);
  const choose = (id: string): void => {
    type("");
    select(id);
  };
  return (
    <div class="finder" ref={place}>
      <input type="search" data-testid="find" aria-label="Find a node or module" placeholder="Find…" value={text}
        role="combobox" aria-expanded={query !== ""} aria-controls="gradgraph-found" aria-autocomplete="list" list={undefined}
        aria-activedescendant={hits.length > 0 ? `gradgraph-found-${active}` : undefined}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && hits[active] !== undefined) choose(hits[active]!.id);
          const by = arrowOf(event.key);
          if (by === 0) return;
          setActive(Math.max(0, Math.min(hits.length - 1, active + by)));
          event.preventDefault();
        }} />
      {query !== "" && (
        <ul class="popover" data-testid="found" id="gradgraph-found" role="listbox" aria-label="Found">
          {hits.map((hit, i) => (
            <li key={hit.id} id={`gradgraph-found-${i}`} class="option" role="option" aria-selected={i === active} data-key={hit.id}
              onPointerMove={() => setActive(i)} onClick={() => choose(hit.id)}>
              {hit.title}<span class="faint where">{hit.where}</span>
            </li>
          ))}
          {hits.length === 0 && <li class="faint option">Nothing has this in its name.</li>}
          {hits.length === MOST && <li class="faint option">The first {MOST} are listed; type more of the name.</li>}
        </ul>
      )}
    </div>
  );
}

function find(hierarchy: Hierarchy, text: string): readonly Hit[] {
  const { graph } = hierarchy;
  const hits: Hit[] = [];
  for (const { id, kind, title, subtitle, folds, scope } of hierarchy.groups) {
    if (hits.length >= MOST) return hits;
    // A module that is one operation is found as that, and of a chain its operations.
    if (folds !== -1 || kind === "chain" || !`${id} ${title} ${subtitle}`.toLowerCase().includes(text)) continue;
    hits.push({ id, title: [title, subtitle].join(" ").trim(), where: scope === NO_SCOPE ? "" : pathOf(graph, scope) });
  }
  const { key, name, operation } = graph.columns.nodes;
  for (let node = 0; node < key.length && hits.length < MOST; node++) {
    const around = foldedAround(hierarchy, node);
    const module = around === undefined ? "" : hierarchy.groups[around]!.subtitle;
    if (!`${key[node]} ${name[node]} ${operation[node]} ${module}`.toLowerCase().includes(text)) continue;
    hits.push({ id: key[node]!, title: titleOf(graph, node), where: key[node]! });
  }
  return hits;
}

function pathOf(graph: Graph, scope: number): string {
  const { path, call } = graph.columns.scopes;
  return `${path[scope]}${calledAgain(graph, scope) ? `#${call[scope]}` : ""}`;
}
