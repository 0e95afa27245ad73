// The loss of both sides of a comparison, where it is recorded.

import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import type { Client } from "../../api/client";
import { formatNumber } from "../../base/format";
import { medianOf } from "../../base/median";
import { atPass, LOSS, type Quantities } from "../../model/flow/scalar_line";
import { lengthOf, type RecordRef, type Run, type Tag } from "../../model/recorded/run";
import type { Store } from "../../state/store";

type Where = { readonly run: Run; readonly tag: Tag };

export function Losses({ store, client }: { readonly store: Store; readonly client: Client }): JSX.Element | null {
  const { run, tag, ref } = store.place;
  const places = store.compare.places.value;
  const shown = run.value && tag.value && { run: run.value, tag: tag.value };
  const [own] = useQuantities(client, shown === undefined ? [] : [shown]);
  const others = useQuantities(client, places);
  const here = lossAt(own, ref.value);
  const losses = places.flatMap((place, i) => lossAt(others[i], place.ref) ?? []);
  const sorted = losses.filter(Number.isFinite).sort((a, b) => a - b);
  const other = sorted.length === 0 ? losses[0] : medianOf(sorted);
  if (here === undefined && other === undefined) return null;
  const text = (loss: number | undefined): string => (loss === undefined ? "–" : formatNumber(loss));
  const range = places.length > 1 && sorted.length > 0 ? ` (${text(sorted[0])} … ${text(sorted.at(-1))})` : "";
  return (
    <span
      class="vs-losses"
      data-testid="vs-losses"
      data-here={here}
      data-there={other}
      title={`The loss at both steps${range === "" ? "" : ": of the runs there the median, the least and the greatest"}`}
    >
      <span class="faint">Loss</span> <b>{text(here)}</b> <span class="faint">here,</span> <b>{text(other)}</b>{" "}
      <span class="faint">
        {places.length > 1 ? "median" : ""} there{range}
      </span>
    </span>
  );
}

// The numbers of the steps of some tags, asked again when one grows.
function useQuantities(client: Client, places: readonly Where[]): readonly (Quantities | undefined)[] {
  const [found, find] = useState<readonly [key: string, readonly (Quantities | undefined)[]]>(["", []]);
  const key = places.map(({ run, tag }) => [run.run, tag.tag].join("\n")).join("\n\n");
  const versions = places.map(({ tag }) => lengthOf(tag)).join();
  useEffect(() => {
    let late = false;
    const asked = places.map(async ({ run, tag }) => {
      const reply = await client.quantities(run.run, tag.tag);
      return reply.ok ? reply.value : undefined;
    });
    void Promise.all(asked).then((replies) => {
      if (!late) find([key, replies]);
    });
    return () => void (late = true);
  }, [key, versions]);
  return found[0] === key ? found[1] : [];
}

function lossAt(quantities: Quantities | undefined, ref: RecordRef | undefined): number | undefined {
  const loss = quantities?.known.get(LOSS);
  if (loss === undefined || ref === undefined) return undefined;
  const { steps, values } = atPass(loss, ref.backwardPass);
  return values[steps.indexOf(ref.step)];
}
