// Fetches the findings of the shown training, and keeps in the browser what the user said about them.

import { batch, computed, effect, signal } from "@preact/signals";
import type { Client } from "../../api/client";
import { Disposer, type Dispose } from "../../base/disposer";
import { followLatest } from "../../base/follow_latest";
import type { Tag } from "../../model/recorded/run";
import { enterFindings, leaveFindings } from "../../state/findings_state";
import type { Store } from "../../state/store";

const KEPT = "gradgraph.findings";
const MOST_KEPT = 50; // trainings
const LATER_MS = 15_000;

interface Said {
  readonly purposed: readonly string[];
  readonly seen: readonly string[];
}

const NOTHING: Said = { purposed: [], seen: [] };

// They are asked for when the picture is there, because they take longer.
export function followFindings(store: Store, client: Client): Dispose {
  const { place, recorded, findings } = store;
  const disposer = new Disposer();
  const again = signal(0);
  const isDrawn = computed(() => recorded.record.value !== undefined);
  let training: string | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let kept: Said = NOTHING;
  const isAnother = (run: string, tag: Tag): boolean => training !== undefined && training !== trainingOf(run, tag);
  const leave = (): void => {
    training = undefined;
    leaveFindings(findings);
  };
  const choice = () => {
    const [run, tag] = [place.run.value?.run, place.tag.value];
    const count = again.value;
    if (run === undefined || tag === undefined || !isDrawn.value) return undefined;
    return [run, tag, count] as const;
  };
  disposer.add(
    effect(() => {
      const [run, tag] = [place.run.value?.run, place.tag.value];
      if (run === undefined || tag === undefined || isAnother(run, tag)) leave();
    }),
  );
  disposer.add(
    followLatest(
      choice,
      ([run, tag]) => client.runFindings(run, tag.tag),
      (reply, [run, tag]) => {
        clearTimeout(timer);
        // While a log is read, records may be there before their graph.
        const isLate = !reply.ok || reply.value.steps === 0 || reply.value.records < tag.records.length;
        if (isLate && !store.alone) timer = setTimeout(() => again.value++, LATER_MS);
        if (!reply.ok || reply.value.steps === 0) return;
        if (training === undefined) {
          training = trainingOf(run, tag);
          const { purposed, seen } = saidOf(training);
          batch(() => {
            enterFindings(findings, reply.value, purposed, seen);
            kept = { purposed: [...findings.purposed.peek()], seen };
          });
        } else findings.ofRun.value = reply.value;
      },
    ),
  );
  disposer.add(
    effect(() => {
      const said = { purposed: [...findings.purposed.value], seen: [...findings.seen.value] };
      if (training === undefined || JSON.stringify(said) === JSON.stringify(kept)) return;
      keep(training, (kept = said));
    }),
  );
  disposer.add(() => clearTimeout(timer));
  return () => disposer.dispose();
}

// Another training of the same name began at another time.
export function trainingOf(run: string, { tag, records }: Tag): string {
  return [run, tag, Math.round(records[0]?.wallTime ?? 0)].join("\n");
}

// A page that is embedded elsewhere may have no storage. What others wrote there may be anything.
function readKept(): Readonly<Record<string, Said>> {
  try {
    const found: unknown = JSON.parse(window.localStorage.getItem(KEPT) ?? "{}");
    return typeof found === "object" && found !== null ? (found as Record<string, Said>) : {};
  } catch {
    return {};
  }
}

function saidOf(training: string): Said {
  const said: Partial<Said> | undefined = readKept()[training];
  return { purposed: texts(said?.purposed), seen: texts(said?.seen) };
}

function texts(found: unknown): readonly string[] {
  return Array.isArray(found) ? found.filter((one) => typeof one === "string") : [];
}

function keep(training: string, said: Said): void {
  try {
    const { [training]: _, ...others } = readKept();
    const trainings = [...Object.entries(others), [training, said] as const].slice(-MOST_KEPT);
    window.localStorage.setItem(KEPT, JSON.stringify(Object.fromEntries(trainings)));
  } catch {
    // Then it is forgotten when the page is closed.
  }
}
