// The runs of the group that the shown run is compared with.

import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { formatCount } from "../../base/format";
import { runTitle } from "../../model/recorded/run";
import { MOST_COMPARED } from "../../state/compare";
import { chooseOther, groupableRuns, toggleCompared } from "../../state/compare_actions";
import type { Store } from "../../state/store";
import { Popover } from "../controls/popover";

const MANY = 8; // from so many on, there is a field that filters them

export function ComparedRuns({ store }: { readonly store: Store }): JSX.Element {
  const [open, setOpen] = useState(false);
  const [wanted, want] = useState("");
  const all = groupableRuns(store);
  const chosen = store.compare.places.value.map(({ run }) => run.run);
  const found = all.filter((run) => runTitle(run).toLowerCase().includes(wanted.toLowerCase()));
  const isFull = chosen.length >= MOST_COMPARED;
  return (
    <div class="vs-runs">
      <Popover
        id="vs-runs"
        label={`${formatCount(chosen.length)} ${chosen.length === 1 ? "run" : "runs"}`}
        look="pill"
        open={open}
        setOpen={setOpen}
      >
        <p class="popover-text">
          Each number is compared with the median of these runs. ▲ and ▼ mark what is above or below all of them.
          {all.length > MOST_COMPARED && ` At most ${MOST_COMPARED} runs are compared.`}
        </p>
        <div class="runs-choice padded">
          {all.length >= MANY && (
            <input
              type="search"
              data-testid="vs-filter"
              aria-label="Filter runs"
              placeholder="Filter runs"
              value={wanted}
              onInput={(event) => want(event.currentTarget.value)}
            />
          )}
          <button
            type="button"
            class="link"
            data-testid="vs-these"
            disabled={found.length === 0}
            onClick={() => chooseOther(store, { runs: wanted === "" ? "every" : found.slice(0, MOST_COMPARED) })}
          >
            {wanted === "" ? "All" : "Only these"}
          </button>
        </div>
        {found.map((run) => (
          <label key={run} class="check padded">
            <input
              type="checkbox"
              data-testid="vs-one"
              data-run={run}
              checked={chosen.includes(run)}
              disabled={chosen.includes(run) ? chosen.length === 1 : isFull}
              onChange={() => toggleCompared(store, run)}
            />
            {runTitle(run)}
          </label>
        ))}
      </Popover>
    </div>
  );
}
