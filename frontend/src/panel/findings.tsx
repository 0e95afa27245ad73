// What the backend found worth telling about the step: where a NaN began, what vanished.

import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import type { Finding } from "../api/contract";
import type { Hierarchy } from "../model/hierarchy";
import type { Session } from "./session";

const SETTLED_MS = 150;

export function Findings({ session, select }: {
  readonly session: Session;
  readonly select: (id: string) => void;
}): JSX.Element | null {
  const findings = useFindings(session);
  const [open, setOpen] = useState(false);
  const hierarchy = session.store.hierarchy.value;
  const worst = findings[0];
  if (worst === undefined || hierarchy === undefined) return null;
  return (
    <div class="finder">
      <button type="button" class={`findings ${worst.severity}`} data-testid="findings" aria-expanded={open} onClick={() => setOpen(!open)}>
        {findings.length === 1 ? "1 finding" : `${findings.length} findings`}
      </button>
      {open && (
        <ul class="popover wide" data-testid="finding-list">
          {findings.map((finding, i) => (
            <li key={i} data-kind={finding.kind}><FindingLine finding={finding} id={idOf(hierarchy, finding)} select={select} /></li>
          ))}
        </ul>
      )}
    </div>
  );
}

function FindingLine({ finding, id, select }: {
  readonly finding: Finding;
  readonly id: string | undefined;
  readonly select: (id: string) => void;
}): JSX.Element {
  const text = <><i class={finding.severity} aria-label={finding.severity} />{finding.text}</>;
  return id === undefined
    ? <span>{text}</span>
    : <button type="button" data-key={id} onClick={() => select(id)}>{text}</button>;
}

// A finding names its node by row: rows of slots come first, in the order of nodes.
function idOf({ graph }: Hierarchy, { row }: Finding): string | undefined {
  if (row === null || row >= graph.slotCount) return undefined;
  let node = 0;
  while (node + 1 < graph.nodeCount && graph.slotOffset[node + 1]! <= row) node++;
  return graph.columns.nodes.key[node];
}

// Asked when the step has settled: while playing there is no time to read them.
function useFindings({ store, client }: Session): readonly Finding[] {
  const [findings, setFindings] = useState<readonly Finding[]>([]);
  const run = store.run.value?.run;
  const tag = store.tag.value?.tag;
  const ref = store.ref.value;
  useEffect(() => {
    if (run === undefined || tag === undefined || ref === undefined) return undefined;
    let current = true;
    const timer = setTimeout(() => {
      void client.findings(run, tag, ref.step, ref.backwardPass).then((reply) => {
        if (current) setFindings(reply.ok ? reply.value : []);
      });
    }, SETTLED_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [run, tag, ref]);
  return findings;
}
