// Where a finding leads: to the step at which it begins, and to the node or module at which it begins.

import { batch } from "@preact/signals";
import type { RunFinding } from "../../model/findings/run_findings";
import type { Hierarchy } from "../../model/tree/hierarchy";
import { goToStep } from "../../state/actions";
import { markSeen } from "../../state/findings_state";
import type { Store } from "../../state/store";

export type Select = (id: string) => void;

export function goToFinding(store: Store, finding: RunFinding, select: Select): void {
  batch(() => {
    markSeen(store.findings);
    if (store.place.ref.peek()?.step !== finding.firstStep) goToStep(store, finding.firstStep);
  });
  const hierarchy = store.recorded.hierarchy.peek();
  // The graph of that step may still have to be loaded. It reveals the selection when it arrives.
  if (hierarchy?.graph.hash !== store.place.hash.peek()) store.shown.selected.value = finding.key || undefined;
  else if (hierarchy !== undefined) {
    const id = placeIn(hierarchy, finding);
    if (id !== undefined) select(id);
  }
}

function placeIn({ graph, groupOf }: Hierarchy, { key, module }: RunFinding): string | undefined {
  if (graph.columns.nodes.key.includes(key)) return key;
  const call = `${module}#0`;
  return module !== "" && groupOf.has(call) ? call : undefined;
}
