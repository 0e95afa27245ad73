// The list of what can be saved: pictures, a link that opens the same view, the numbers.

import { useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { formatAddress } from "../../state/address";
import type { Store } from "../../state/store";
import { TakeAwayIcon } from "../controls/icons";
import { Popover } from "../controls/popover";
import { copyText } from "../picture/download";
import { pageAddress, readHash } from "../session/host";
import { addressOf } from "../session/shown_address";
import { SaveStory } from "../story/story_button";
import type { Views } from "../view/views";

interface TakeAwayProps {
  readonly store: Store;
  readonly views: Views;
}

export function TakeAway({ store, views }: TakeAwayProps): JSX.Element {
  const [open, setOpen] = useState(false);
  const { Saved } = views.shown.value;
  return (
    <Popover id="take-away" label={<TakeAwayIcon />} look="icon" title="Save pictures, numbers, a link" open={open} setOpen={setOpen}>
      <div class="take-away" data-testid="take-away-list">
        {Saved && <Saved />}
        {store.story.marks.value.length > 0 && <SaveStory store={store} />}
        <Link store={store} views={views} />
        {!store.alone && <Records store={store} />}
      </div>
    </Popover>
  );
}

function Link({ store, views }: TakeAwayProps): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  const [copied, setCopied] = useState<string | undefined>(undefined);
  const link = `${pageAddress()}#${formatAddress(readHash(), addressOf(store), views.writeLink())}`;
  return (
    <section>
      <h3 aria-level={2}>Link to this view</h3>
      <input
        type="text"
        readOnly
        ref={field}
        data-testid="link"
        aria-label="Link to this view"
        value={link}
        onFocus={(event) => event.currentTarget.select()}
      />
      <button
        type="button"
        class="action"
        data-testid="copy-link"
        onClick={() => void copyText(link, field.current).then((done) => setCopied(done ? link : undefined))}
      >
        {copied === link ? "Copied" : "Copy"}
      </button>
    </section>
  );
}

const FORMATS = [
  { format: "csv", text: "CSV", title: "One line for each record and tensor, with all statistics" },
  { format: "json", text: "JSON", title: "The structure, and all statistics of every record" },
  { format: "dot", text: "DOT", title: "The drawing for Graphviz, with the norms of the last record" },
] as const;

function Records({ store }: { readonly store: Store }): JSX.Element {
  const query = new URLSearchParams({ run: store.place.run.value?.run ?? "", tag: store.place.tag.value?.tag ?? "" });
  return (
    <section>
      <h3 aria-level={2}>All recorded steps of this graph</h3>
      {FORMATS.map(({ format, text, title }) => (
        <a key={format} class="action" data-testid={`save-${format}`} title={title} href={`./export?${query}&format=${format}`} download>
          {text}
        </a>
      ))}
      <p class="faint">
        To make one file that opens without TensorBoard: <code>tb-gradgraph export --html LOGDIR graph.html</code>
      </p>
    </section>
  );
}
