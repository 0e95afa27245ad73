// One finding of the training: what, when, its picture, and whether it is so on purpose.

import type { JSX } from "preact";
import { isCause, nameOf, stepsOf, type RunFinding } from "../../model/findings/run_findings";
import { distinctSteps } from "../../model/recorded/run";
import { setPurposed } from "../../state/findings_state";
import type { Store } from "../../state/store";
import { goToFinding, type Select } from "./go_to_finding";
import { PictureOfFinding } from "./picture_of_finding";

export function FindingRow({
  store,
  finding,
  select,
  close,
}: {
  readonly store: Store;
  readonly finding: RunFinding;
  readonly select: Select;
  readonly close?: () => void;
}): JSX.Element {
  const { count, examined, severity, text, advice } = finding;
  const isPurposed = store.findings.purposed.value.has(nameOf(finding));
  const go = (): void => {
    close?.();
    goToFinding(store, finding, select);
  };
  return (
    <li class="run-finding" data-testid="run-finding" data-kind={finding.kind} data-key={finding.key}>
      <button type="button" class="go" title={`${text}\n${advice}`} onClick={go}>
        <i class={`severity-${severity}`} role="img" aria-label={severity} />
        <span class="what">
          {text} <span class="faint">{advice}</span>
        </span>
        <PictureOfFinding finding={finding} steps={distinctSteps(store.place.tag.value?.records ?? [])} />
        <span class="when" title={`at ${count} of ${examined} examined steps`}>
          {stepsOf(finding)}
        </span>
      </button>
      {isCause(finding) && (
        <button
          type="button"
          class="link"
          data-testid={isPurposed ? "undo-purpose" : "on-purpose"}
          title={isPurposed ? "Count it as a finding again." : "Say that this is so on purpose: it is no longer counted."}
          onClick={() => setPurposed(store.findings, finding, !isPurposed)}
        >
          {isPurposed ? "Undo" : "On purpose"}
        </button>
      )}
    </li>
  );
}
