// Finds nodes and modules by any part of their name, and steps through the results.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { titleOf } from "../../model/recorded/titles";
import type { Hierarchy } from "../../model/tree/hierarchy";
import { search, type Hit } from "../../model/visible/search";
import { NextIcon, PreviousIcon } from "../controls/icons";
import { arrowOf, useDismiss } from "../controls/popover";

const LISTED = 30;
const MOST = 999;

export function Finder({
  hierarchy,
  select,
}: {
  readonly hierarchy: Hierarchy | undefined;
  readonly select: (id: string) => void;
}): JSX.Element {
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const place = useRef<HTMLDivElement>(null);
  const query = text.trim().toLowerCase();
  const hits = useMemo(() => (hierarchy === undefined || query === "" ? [] : search(hierarchy, query, MOST)), [hierarchy, query]);
  const at = Math.min(active, hits.length - 1);
  const listed = hits.slice(0, LISTED);
  const type = (now: string): void => {
    setText(now);
    setActive(0);
    setOpen(now.trim() !== "");
  };
  useDismiss(place, open, () => setOpen(false));
  useEffect(() => place.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }), [at]);
  const choose = (index: number): void => {
    setOpen(false);
    setActive(index);
    select(hits[index]!.id);
  };
  // After the last result comes the first.
  const go = (by: number): void => {
    if (hits.length > 0) choose((at + by + hits.length) % hits.length);
  };
  return (
    <div class={hits.length > 0 && !open ? "finder found" : "finder"} ref={place}>
      <input
        type="search"
        data-testid="find"
        aria-label="Find a node or module"
        placeholder="Find…"
        value={text}
        role="combobox"
        aria-expanded={open}
        aria-controls="gradgraph-found"
        aria-autocomplete="list"
        list={undefined}
        aria-activedescendant={open && at < LISTED && at !== -1 ? `gradgraph-found-${at}` : undefined}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && hits.length > 0) {
            if (open) choose(at);
            else go(event.shiftKey ? -1 : 1);
          }
          const by = arrowOf(event.key);
          if (by === 0 || listed.length === 0) return;
          setOpen(true);
          setActive(Math.max(0, Math.min(listed.length - 1, at + (open ? by : 0))));
          event.preventDefault();
        }}
      />
      {hits.length > 0 && !open && <Round at={at} count={hits.length} go={go} />}
      {open && (
        <ul class="popover" data-testid="found" id="gradgraph-found" role="listbox" aria-label="Found">
          {hierarchy !== undefined &&
            listed.map((hit, i) => (
              <li
                key={hit.id}
                id={`gradgraph-found-${i}`}
                class="option"
                role="option"
                aria-selected={i === at}
                data-key={hit.id}
                onPointerMove={() => setActive(i)}
                onClick={() => choose(i)}
              >
                <span>{titleAt(hierarchy, hit)}</span>
                <span class="faint where">{hit.where}</span>
              </li>
            ))}
          {hits.length === 0 && <li class="faint option">No name contains this.</li>}
          {hits.length > LISTED && (
            <li class="faint option">
              {LISTED} of {hits.length === MOST ? `more than ${MOST}` : hits.length} are listed; Enter goes from one to the next.
            </li>
          )}
        </ul>
      )}
    </div>
  );
}

function Round({ at, count, go }: { readonly at: number; readonly count: number; readonly go: (by: number) => void }): JSX.Element {
  const button = (id: string, label: string, by: number, Icon: () => JSX.Element): JSX.Element => (
    <button type="button" class="icon" data-testid={id} title={label} aria-label={label} onClick={() => go(by)}>
      <Icon />
    </button>
  );
  return (
    <span class="round">
      <span class="faint" data-testid="find-place">
        {at + 1} of {count === MOST ? `${MOST}+` : count}
      </span>
      {button("find-previous", "Previous hit (Shift+Enter)", -1, PreviousIcon)}
      {button("find-next", "Next hit (Enter)", 1, NextIcon)}
    </span>
  );
}

function titleAt({ graph, groups }: Hierarchy, { group, node }: Hit): string {
  if (group === -1) return titleOf(graph, node);
  return `${groups[group]!.title} ${groups[group]!.subtitle}`.trim();
}
