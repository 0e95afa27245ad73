// What a training opens with: its three first findings, or that nothing looks wrong.

import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { formatCount } from "../../base/format";
import { nameOf } from "../../model/findings/run_findings";
import { closeVerdict, setPurposed } from "../../state/findings_state";
import type { Store } from "../../state/store";
import { CheckIcon, CloseIcon, IconButton } from "../controls/icons";
import { FindingRow } from "./finding_row";
import type { Select } from "./go_to_finding";

const SHOWN = 3;

export function Verdict({ store, select }: { readonly store: Store; readonly select: Select }): JSX.Element | null {
  const { ofRun, open, causes } = store.findings;
  const [all, setAll] = useState(false);
  const found = ofRun.value;
  if (found === undefined || !open.value) return null;
  const shown = all ? causes.value : causes.value.slice(0, SHOWN);
  const more = causes.value.length - shown.length;
  return (
    <section class="verdict" data-testid="verdict" data-healthy={causes.value.length === 0} aria-label="What this training shows">
      <div class="sentences">
        {shown.length === 0 ? (
          <p class="healthy">
            <CheckIcon />
            Nothing {found.healthy ? "" : "else "}looks wrong in {counted(found.steps)}.
          </p>
        ) : (
          <ul>
            {shown.map((finding) => (
              <FindingRow key={nameOf(finding)} store={store} finding={finding} select={select} />
            ))}
          </ul>
        )}
        {more > 0 && (
          <button type="button" class="link" data-testid="more-causes" onClick={() => setAll(true)}>
            {more} more
          </button>
        )}
        <Purposed store={store} />
      </div>
      <IconButton id="verdict-close" label="Close" onClick={() => closeVerdict(store.findings)}>
        <CloseIcon />
      </IconButton>
    </section>
  );
}

// Takes back what was said last.
function Purposed({ store }: { readonly store: Store }): JSX.Element | null {
  const { ofRun, purposed } = store.findings;
  const names = [...purposed.value];
  const known = new Map(ofRun.value?.findings.map((one) => [nameOf(one), one]));
  const said = names.flatMap((name) => known.get(name) ?? []);
  const last = said.at(-1);
  if (last === undefined) return null;
  return (
    <p class="purposed faint" data-testid="purposed" title={said.map(({ text }) => text).join("\n")}>
      {said.length} on purpose{" "}
      <button type="button" class="link" data-testid="undo-last" onClick={() => setPurposed(store.findings, last, false)}>
        Undo
      </button>
    </p>
  );
}

function counted(steps: number): string {
  return steps === 1 ? "the recorded step" : `${formatCount(steps)} recorded steps`;
}
