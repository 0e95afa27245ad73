// A short help: what keys do, and what colors, shapes and marks mean.

import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { formatCount } from "../../base/format";
import { HISTOGRAM_SAMPLE, MEASURES, OF_PARAMETERS } from "../../base/vocabulary";
import { STATISTICS } from "../../model/recorded/statistics";
import type { Store } from "../../state/store";
import { keep } from "../controls/kept";
import { Popover } from "../controls/popover";
import type { Entries } from "../view/view";
import type { Views } from "../view/views";

const EVERYWHERE: Entries = [
  ["/", "to Find"],
  ["N", "opens the findings"],
  ["T", "goes to the next stage of the step"],
  ["M", "marks this view in the story"],
  ["O, S, ?", "color scale, saving, this help"],
];

// One sentence for each statistic: those that can be drawn, then those of parameters at the stage "applied".
const STATISTIC_MEANINGS: Entries = [
  ...STATISTICS.map(({ label, meaning }) => [label, meaning] as const),
  ["elements by magnitude", `how many elements, in a sample of at most ${formatCount(HISTOGRAM_SAMPLE)}, lie in each power of four`],
  ...MEASURES.filter(({ name }) => OF_PARAMETERS.includes(name)).map(({ label, meaning }) => [label, meaning] as const),
];

export function Help({ store, views }: { readonly store: Store; readonly views: Views }): JSX.Element {
  const { keys, meanings } = views.shown.value.help;
  const digits = [views.all.map((_, i) => i + 1).join(" "), views.all.map(({ text }) => text).join(", ")] as const;
  const [open, setOpen] = useState(false);
  return (
    <Popover id="help" label="?" look="icon help" title="Keys and symbols" open={open} setOpen={setOpen}>
      <div class="help-text" data-testid="help-text">
        <List title="Keys" entries={[...keys, digits, ...EVERYWHERE]} />
        <ScrollChoice store={store} />
        <List title="What is drawn" entries={meanings} />
        <List
          title="Statistics of a gradient's elements; NaN and infinity are counted, and left out of the other statistics"
          entries={STATISTIC_MEANINGS}
        />
      </div>
    </Popover>
  );
}

function ScrollChoice({ store }: { readonly store: Store }): JSX.Element {
  const { scrollZooms } = store.look;
  return (
    <label class="check">
      <input
        type="checkbox"
        data-testid="scroll-zooms"
        checked={scrollZooms.value}
        onChange={(event) => {
          scrollZooms.value = event.currentTarget.checked;
          keep("scroll", scrollZooms.value ? "zooms" : "moves");
        }}
      />
      The wheel zooms the graph, without Ctrl
    </label>
  );
}

function List({ title, entries }: { readonly title: string; readonly entries: Entries }): JSX.Element {
  return (
    <section>
      <h3 aria-level={2}>{title}</h3>
      <dl>
        {entries.map(([what, meaning]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
