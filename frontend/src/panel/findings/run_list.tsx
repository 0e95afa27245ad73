// All findings of the training, as the upper part of the list behind the button.

import type { JSX } from "preact";
import { formatCount } from "../../base/format";
import { nameOf } from "../../model/findings/run_findings";
import type { Store } from "../../state/store";
import { FindingRow } from "./finding_row";
import type { Select } from "./go_to_finding";

export function OfRun(props: { readonly store: Store; readonly select: Select; readonly close: () => void }): JSX.Element | null {
  const { ofRun, purposed } = props.store.findings;
  const found = ofRun.value;
  if (found === undefined) return null;
  const [aside, shown] = [true, false].map((is) => found.findings.filter((one) => purposed.value.has(nameOf(one)) === is));
  return (
    <>
      <h3 aria-level={2}>In {formatCount(found.steps)} recorded steps</h3>
      <ul data-testid="run-finding-list">
        {shown!.map((finding) => (
          <FindingRow key={nameOf(finding)} {...props} finding={finding} />
        ))}
      </ul>
      {aside!.length > 0 && (
        <>
          <h3 aria-level={2}>On purpose</h3>
          <ul data-testid="purposed-list" class="purposed">
            {aside!.map((finding) => (
              <FindingRow key={nameOf(finding)} {...props} finding={finding} />
            ))}
          </ul>
        </>
      )}
    </>
  );
}
