// Above the names: the order of the rows.

import type { JSX } from "preact";
import type { RowOrder, SortBy } from "../../../model/flow/flow_order";
import { DownIcon, IconButton, UpIcon } from "../../controls/icons";
import { sortRows } from "../data/flow_actions";
import type { Flowing } from "../data/flow_data";

// The direction that shows first what one looks for.
const CHOICES: readonly { readonly by: SortBy; readonly text: string; readonly title: string; readonly descending: boolean }[] = [
  { by: "depth", text: "Forward order", title: "as the forward ran, with modules around what is in them", descending: false },
  {
    by: "value",
    text: "Number at this step",
    title: "the magnitude at the chosen step; NaN and infinity are the greatest",
    descending: true,
  },
  {
    by: "slope",
    text: "Slope over all steps",
    title: "a straight line through all steps, on a log scale if the statistic has one",
    descending: false,
  },
  {
    by: "below",
    text: "First step below",
    title: "the first step at which the magnitude is below the number beside it",
    descending: false,
  },
];

export function OrderChoice({ flowing }: { readonly flowing: Flowing }): JSX.Element {
  const { order } = flowing.state;
  const { by, descending, below } = order.value;
  const { y, height } = flowing.head.value.strip;
  const change = (part: Partial<RowOrder>): void => sortRows(flowing.state, { ...order.peek(), ...part });
  return (
    <div class="flow-order" style={{ top: `${y}px`, height: `${height}px` }}>
      <select
        data-testid="flow-order"
        aria-label="Order of the rows"
        title="Order of the rows. In any order but that of the forward, rows are named with the modules around them."
        value={by}
        onChange={(event) => {
          const { descending: first } = CHOICES.find((one) => one.by === event.currentTarget.value)!;
          change({ by: event.currentTarget.value as SortBy, descending: first });
        }}
      >
        {CHOICES.map(({ by: id, text, title }) => (
          <option key={id} value={id} title={title}>
            {text}
          </option>
        ))}
      </select>
      {by === "below" && (
        <input
          type="text"
          inputMode="decimal"
          class="number"
          data-testid="flow-below"
          aria-label="Below"
          size={6}
          value={below}
          onChange={(event) => {
            const limit = Number(event.currentTarget.value);
            if (limit > 0 && Number.isFinite(limit)) change({ below: limit });
            else event.currentTarget.value = String(below);
          }}
        />
      )}
      <IconButton
        id="flow-reverse"
        label={descending ? "Greatest or last first; press to reverse" : "Smallest or first first; press to reverse"}
        onClick={() => change({ descending: !descending })}
      >
        {descending ? <DownIcon /> : <UpIcon />}
      </IconButton>
    </div>
  );
}
