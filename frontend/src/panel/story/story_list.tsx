// The list of marks: to go to, to rename, to order, to delete, to save.

import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { linkOf } from "../../state/address";
import type { Store } from "../../state/store";
import { bringBack, changeMark, linkedText, LONGEST_LINE, moveMark, removeMark, type Mark } from "../../state/story";
import { CloseIcon, DownIcon, IconButton, PlusIcon, SwapIcon, UpIcon } from "../controls/icons";
import { readKeptMarks } from "../session/follow_story";
import { followLink } from "../view/follow_link";
import type { Views } from "../view/views";
import { dropOtherPictures, readPicture } from "./picture_shelf";
import { SaveStory } from "./save_story";
import { markView, renewMark } from "./take_mark";

export interface StoryProps {
  readonly store: Store;
  readonly views: Views;
}

export function StoryList({ store, views }: StoryProps): JSX.Element {
  const { marks, removed, asked } = store.story;
  const place = useRef<HTMLDivElement>(null);
  const [version, setVersion] = useState(0); // of the pictures
  const [said, say] = useState("");
  const focus = (selector: string): void => place.current?.querySelector<HTMLElement>(selector)?.focus();
  const startWriting = (id: string): void =>
    void setTimeout(() => {
      const input = place.current?.querySelector<HTMLInputElement>(`[data-mark="${id}"] input`);
      input?.focus();
      input?.select();
    });
  const mark = (): void => void markView(store, views, startWriting).then(() => setVersion((now) => now + 1));
  useEffect(() => {
    const undoable = removed.peek();
    const all = [...readKeptMarks(), ...marks.peek(), ...(undoable === undefined ? [] : [undoable.mark])];
    void dropOtherPictures(new Set(all.map(({ id }) => id)));
  }, []);
  useEffect(() => {
    if (!asked.value) return;
    asked.value = false;
    mark();
  }, [asked.value]);
  const move = (id: string, by: number): void => {
    moveMark(store.story, id, by);
    say(`Now mark ${marks.peek().findIndex((one) => one.id === id) + 1} of ${marks.peek().length}.`);
    // At the end of the list the pressed button is disabled.
    setTimeout(() => {
      focus(`[data-mark="${id}"] [data-testid=${by < 0 ? "mark-up" : "mark-down"}]:not(:disabled)`);
      if (document.activeElement === document.body) focus(`[data-mark="${id}"] input`);
    });
  };
  const remove = (id: string): void => {
    removeMark(store.story, id);
    setTimeout(() => focus("[data-testid=undo-remove]"));
  };
  return (
    <div class="story" data-testid="story-list" ref={place}>
      <button type="button" class="action" data-testid="mark-view" onClick={mark}>
        <PlusIcon /> Mark this view
      </button>
      {marks.value.length === 0 && (
        <p class="faint">A mark keeps a view with a line of yours. Several of them tell what happened; save them as one file to hand on.</p>
      )}
      <ol>
        {marks.value.map((one, i) => (
          <Row
            key={one.id}
            mark={one}
            number={i + 1}
            last={i === marks.value.length - 1}
            version={version}
            go={() => followLink(store, views, linkOf(one.link))}
            rename={(line) => changeMark(store.story, one.id, { line })}
            move={(by) => move(one.id, by)}
            renew={() => void renewMark(store, views, one.id).then(() => setVersion((now) => now + 1))}
            remove={() => remove(one.id)}
          />
        ))}
      </ol>
      <p role="status" class="faint">
        {removed.value === undefined ? (
          said
        ) : (
          <>
            Deleted “{removed.value.mark.line}”.{" "}
            <button type="button" class="link" data-testid="undo-remove" onClick={() => bringBack(store.story)}>
              Undo
            </button>
          </>
        )}
      </p>
      {marks.value.length > 0 && (
        <div class="take-away">
          <SaveStory store={store} />
          <p class="faint" data-testid="story-in-link">
            {linkedText(marks.value) === undefined
              ? "It is too long for the link of the page; this browser keeps it."
              : "The link of the page holds it too, without its pictures."}
          </p>
        </div>
      )}
    </div>
  );
}

const MOST_TOLD = 5;

interface RowProps {
  readonly mark: Mark;
  readonly number: number;
  readonly last: boolean;
  readonly version: number;
  go(): void;
  rename(line: string): void;
  move(by: number): void;
  renew(): void;
  remove(): void;
}

function Row({ mark, number, last, version, go, rename, move, renew, remove }: RowProps): JSX.Element {
  const [picture, setPicture] = useState<string | undefined>(undefined);
  useEffect(() => {
    let late = false;
    void readPicture(mark.id).then((found) => !late && setPicture(found));
    return () => void (late = true);
  }, [mark.id, version]);
  const told = mark.facts.filter(([label]) => label !== "Statistic").slice(0, MOST_TOLD);
  const about = told.map(([label, text]) => (label === "Step" || label === "Steps" ? `${label.toLowerCase()} ${text}` : text));
  return (
    <li data-mark={mark.id} data-testid="mark">
      <button
        type="button"
        class="go"
        data-testid="mark-go"
        title="Go to this view"
        aria-label={`Go to mark ${number}, ${mark.line}`}
        onClick={go}
      >
        {picture === undefined ? <span class="faint">no picture</span> : <img src={picture} alt="" />}
      </button>
      <div class="words">
        <input
          type="text"
          data-testid="mark-line"
          aria-label={`Line of mark ${number}`}
          maxLength={LONGEST_LINE}
          value={mark.line}
          onInput={(event) => rename(event.currentTarget.value)}
          onKeyDown={(event) => {
            // The arrows are for the text here, and not for the list.
            if (event.key.startsWith("Arrow")) event.stopPropagation();
          }}
        />
        <p class="faint">{about.join(" · ")}</p>
      </div>
      <div class="edit">
        <IconButton id="mark-up" label="Move up" disabled={number === 1} onClick={() => move(-1)}>
          <UpIcon />
        </IconButton>
        <IconButton id="mark-down" label="Move down" disabled={last} onClick={() => move(1)}>
          <DownIcon />
        </IconButton>
        <IconButton id="mark-renew" label="Replace by the view shown now; the line stays" onClick={renew}>
          <SwapIcon />
        </IconButton>
        <IconButton id="mark-remove" label="Delete" onClick={remove}>
          <CloseIcon />
        </IconButton>
      </div>
    </li>
  );
}
