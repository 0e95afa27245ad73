// What can be taken away: pictures of what is shown, a link that opens it again, the numbers.

import { useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { formatAddress } from "../../state/address";
import type { Store } from "../../state/store";
import type { Charting } from "../charts/charts_data";
import { drawnLines, savedLines } from "../charts/charts_lines";
import { TakeAwayIcon } from "../controls/icons";
import { Popover } from "../controls/popover";
import type { Flowing } from "../flow/flow_data";
import { flowPicture } from "../flow/flow_picture";
import type { CanvasRef } from "../graph/graph_view";
import { copyText } from "../picture/download";
import { nameOf, savePicture, withFooter, type View } from "../picture/picture";
import { SaveChart } from "../picture/save_chart";
import type { Drawing } from "../session/drawing";
import { pageAddress, readHash } from "../session/host";
import { addressOf } from "../session/shown_address";

interface Shown {
  readonly store: Store;
  readonly drawing: Drawing;
  readonly flowing: Flowing;
  readonly charting: Charting;
  readonly canvas: CanvasRef;
}

export function TakeAway(props: Shown): JSX.Element {
  const { store } = props;
  const [open, setOpen] = useState(false);
  const view = store.view.value;
  return (
    <Popover id="take-away" label={<TakeAwayIcon />} look="icon" title="Save pictures, numbers, a link" open={open} setOpen={setOpen}>
      <div class="take-away" data-testid="take-away-list">
        {view !== "charts" && <Pictures {...props} title={view === "flow" ? "Picture of the heat map" : "Picture of what is in sight"} whole={false} />}
        {view === "graph" && <Pictures {...props} title="Picture of the whole drawing" whole />}
        {view === "charts" && <OfChart {...props} />}
        <Link store={store} />
        {!store.alone && <Records store={store} />}
      </div>
    </Popover>
  );
}

function Pictures({ store, drawing, flowing, canvas, title, whole }: Shown & { readonly title: string; readonly whole: boolean }): JSX.Element {
  const save = (format: "png" | "svg"): void => {
    const flow = store.view.peek() === "flow";
    const view: View | undefined = flow ? flowPicture(store, drawing, flowing) : canvas.current?.picture(whole);
    if (view === undefined) return;
    void savePicture(format, withFooter(view, store, drawing, flow ? flowing.scale.peek() : undefined), nameOf(store), store);
  };
  return (
    <section>
      <h3>{title}</h3>
      <button type="button" class="action" data-testid={whole ? "save-whole-png" : "save-png"} onClick={() => save("png")}>PNG</button>
      <button type="button" class="action" data-testid={whole ? "save-whole-svg" : "save-svg"} onClick={() => save("svg")}>SVG</button>
    </section>
  );
}

function OfChart({ store, drawing, charting }: Shown): JSX.Element | null {
  const overlaid = drawnLines(store, charting.series.value, drawing.theme.value);
  if (overlaid.lines.length === 0) return null;
  return (
    <section>
      <h3>The chart</h3>
      <SaveChart store={store} drawing={drawing} look="action" chart={savedLines(store, overlaid)} />
    </section>
  );
}

function Link({ store }: { readonly store: Store }): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  const [copied, setCopied] = useState<string | undefined>(undefined);
  const link = `${pageAddress()}#${formatAddress(readHash(), addressOf(store))}`;
  return (
    <section>
      <h3>Link to this view</h3>
      <input type="text" readOnly ref={field} data-testid="link" aria-label="Link to this view" value={link} onFocus={(event) => event.currentTarget.select()} />
      <button type="button" class="action" data-testid="copy-link"
        onClick={() => void copyText(link, field.current).then((done) => setCopied(done ? link : undefined))}>
        {copied === link ? "Copied" : "Copy"}
      </button>
    </section>
  );
}

const FORMATS = [
  { format: "csv", text: "CSV", title: "One line a record and tensor, with all statistics" },
  { format: "json", text: "JSON", title: "The structure, and all statistics of every record" },
  { format: "dot", text: "DOT", title: "The drawing for Graphviz, with the norms of the last record" },
] as const;

function Records({ store }: { readonly store: Store }): JSX.Element {
  const query = new URLSearchParams({ run: store.run.value?.run ?? "", tag: store.tag.value?.tag ?? "" });
  return (
    <section>
      <h3>All recorded steps of this graph</h3>
      {FORMATS.map(({ format, text, title }) => (
        <a key={format} class="action" data-testid={`save-${format}`} title={title} href={`./export?${query}&format=${format}`} download>{text}</a>
      ))}
      <p class="faint">In one file that opens without TensorBoard: <code>tb-gradgraph export --html LOGDIR graph.html</code></p>
    </section>
  );
}
