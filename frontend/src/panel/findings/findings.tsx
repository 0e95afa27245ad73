// The button and the list of what looks wrong: in the training as a whole, and at the shown step.

import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import type { Elsewhere, Finding, FindingsReply } from "../../api/contract";
import { Disposer } from "../../base/disposer";
import { followLatest } from "../../base/follow_latest";
import { SEVERITIES } from "../../base/vocabulary";
import type { Hierarchy } from "../../model/tree/hierarchy";
import { goToStep } from "../../state/actions";
import { markSeen } from "../../state/findings_state";
import { Popover } from "../controls/popover";
import type { Session } from "../session/session";
import { OfRun } from "./run_list";

const SETTLED_MS = 150;
const SHOWN = 3;
const NONE: FindingsReply = { findings: [], elsewhere: [] };

export function Findings({ session, select }: { readonly session: Session; readonly select: (id: string) => void }): JSX.Element | null {
  const { store } = session;
  const { findings, elsewhere } = useFindings(session);
  const [open, setOpen] = useState(false);
  const ref = store.place.ref.value;
  const { ofRun, causes, news } = store.findings;
  const told = ofRun.value?.findings ?? [];
  const none = told.length + findings.length + elsewhere.length === 0;
  // It stays open while steps change, because it leads from step to step.
  useEffect(() => setOpen(false), [store.place.run.value?.run, store.place.tag.value?.tag]);
  useEffect(() => {
    if (none) setOpen(false);
  }, [none]);
  const hierarchy = store.recorded.hierarchy.value;
  if (none || hierarchy === undefined) return null;
  const worst = ofRun.value === undefined ? findings[0]?.severity : news.value.find(({ severity }) => severity === "error")?.severity;
  const look = worst ?? news.value[0]?.severity ?? "note";
  const choose = (id: string): void => {
    setOpen(false);
    select(id);
  };
  return (
    <Popover
      id="findings"
      look={`findings severity-${look}`}
      open={open}
      setOpen={(opens) => {
        setOpen(opens);
        if (opens) markSeen(store.findings);
      }}
      label={ofRun.value === undefined ? countOf(findings.length, "findings elsewhere") : countOf(causes.value.length, "notes")}
    >
      {told.length > 0 && <OfRun store={store} select={select} close={() => setOpen(false)} />}
      {told.length > 0 && findings.length + elsewhere.length > 0 && <h3 aria-level={2}>At step {ref?.step}</h3>}
      <ul data-testid="finding-list">
        {alike(findings).map((group) => (
          <Alike key={group[0]!.text} findings={group} hierarchy={hierarchy} select={choose} />
        ))}
        {elsewhere.length > 0 && (
          <li class="elsewhere" data-testid="findings-elsewhere">
            {elsewhere.map((other) => (
              <AtStep key={other.step} other={other} go={() => goToStep(store, other.step, other.backward_pass)} />
            ))}
          </li>
        )}
      </ul>
    </Popover>
  );
}

function countOf(count: number, none: string): string {
  return count === 0 ? none : count === 1 ? "1 finding" : `${count} findings`;
}

// What begins at another step, as a link to it.
function AtStep({ other, go }: { readonly other: Elsewhere; readonly go: () => void }): JSX.Element {
  const more = other.count - 1;
  return (
    <button type="button" class="more" title={other.text} onClick={go}>
      First at step {other.step}: {other.text}
      {more > 0 && ` And ${more} more.`}
    </button>
  );
}

// Findings of one severity and kind are grouped, the worst severity first.
function alike(findings: readonly Finding[]): readonly (readonly Finding[])[] {
  const groups = new Map<string, Finding[]>();
  for (const finding of findings) {
    const key = `${finding.severity} ${finding.kind}`;
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [finding]);
    else known.push(finding);
  }
  return [...groups.values()];
}

function Alike({
  findings,
  hierarchy,
  select,
}: {
  readonly findings: readonly Finding[];
  readonly hierarchy: Hierarchy;
  readonly select: (id: string) => void;
}): JSX.Element {
  const [all, setAll] = useState(false);
  // A button for a single finding would take as much room as the finding.
  const shown = all || findings.length <= SHOWN + 1 ? findings : findings.slice(0, SHOWN);
  return (
    <>
      {shown.map((finding, i) => (
        <li key={i} data-kind={finding.kind}>
          <FindingLine finding={finding} id={idOf(hierarchy, finding)} select={select} />
        </li>
      ))}
      {shown.length < findings.length && (
        <li>
          <button type="button" class="more" data-testid="more-findings" onClick={() => setAll(true)}>
            {findings.length - shown.length} more like these
          </button>
        </li>
      )}
      {findings[0]!.advice !== "" && <li class="advice">{findings[0]!.advice}</li>}
    </>
  );
}

function FindingLine({
  finding,
  id,
  select,
}: {
  readonly finding: Finding;
  readonly id: string | undefined;
  readonly select: (id: string) => void;
}): JSX.Element {
  const text = (
    <>
      <i class={`severity-${finding.severity}`} role="img" aria-label={finding.severity} />
      {finding.text}
    </>
  );
  return id === undefined ? (
    <span>{text}</span>
  ) : (
    <button type="button" data-key={id} onClick={() => select(id)}>
      {text}
    </button>
  );
}

// A finding names its node by row: rows of slots come first, in the order of nodes.
function idOf({ graph }: Hierarchy, { row }: Finding): string | undefined {
  if (row === null || row >= graph.slotCount) return undefined;
  let node = 0;
  while (node + 1 < graph.nodeCount && graph.slotOffset[node + 1]! <= row) node++;
  return graph.columns.nodes.key[node];
}

// Fetched when the step stops changing, because while playing there is no time to read them.
function useFindings({ store, client }: Session): FindingsReply {
  const [findings, setFindings] = useState<FindingsReply>(NONE);
  const run = store.place.run.value?.run;
  const tag = store.place.tag.value?.tag;
  const ref = store.place.ref.value;
  useEffect(() => {
    if (run === undefined || tag === undefined || ref === undefined) {
      setFindings(NONE);
      return undefined;
    }
    const disposer = new Disposer();
    const timer = setTimeout(
      () =>
        disposer.add(
          followLatest(
            () => [],
            () => client.findings(run, tag, ref),
            (reply) => {
              setFindings(reply.ok ? { ...reply.value, findings: worstFirst(reply.value.findings) } : NONE);
            },
          ),
        ),
      SETTLED_MS,
    );
    disposer.add(() => clearTimeout(timer));
    return () => disposer.dispose();
  }, [run, tag, ref]);
  // Findings of another run or tag must not be shown here, not even briefly.
  useEffect(() => setFindings(NONE), [run, tag]);
  return findings;
}

function worstFirst(findings: readonly Finding[]): readonly Finding[] {
  return [...findings].sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
}
