// Value and gradient of a tensor that is kept whole: numbers where they are few, else a picture.

import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import type { Client } from "../../../api/client";
import type { WhatKept } from "../../../api/contract";
import { recordIn, type NodeSeries } from "../../../api/parse";
import type { Result } from "../../../base/result";
import type { Theme } from "../../../draw/style/theme";
import type { Graph } from "../../../model/recorded/graph";
import { WHOLE_LIMIT, type RecordedStep } from "../../../model/recorded/record";
import { HeatMap } from "./heat_map";
import { Matrix } from "./matrix";

export function WholeArrays({ client, record, series, graph, row, seed, theme }: {
  readonly client: Client;
  readonly record: RecordedStep | undefined;
  readonly series: NodeSeries | undefined; // of this row: it may hold what the step had no room for
  readonly graph: Graph;
  readonly row: number;
  readonly seed: boolean;
  readonly theme: Theme;
}): JSX.Element | null {
  if (record === undefined) return null;
  const { shape, dtype } = graph.columns.slots;
  const sizes = shape[row] ?? [];
  const parts = dtype[row]?.startsWith("complex") ? [...sizes, 2] : sizes;
  const array = (what: WhatKept, title: string): JSX.Element | undefined => {
    const numbers = record.whole.get(row)?.[what] ?? wholeIn(series, record, what);
    const drawn = { title, id: `whole-${what}`, shape: parts, theme };
    if (numbers !== undefined) return <ArrayOf {...drawn} numbers={numbers} />;
    return record.leftOut[what].has(row) ? <Fetched {...drawn} client={client} record={record} row={row} what={what} /> : undefined;
  };
  const [value, gradient] = [array("value", "value"), array("gradient", seed ? "seed gradient" : "gradient")];
  return value === undefined && gradient === undefined ? null : <div class="wholes">{value}{gradient}</div>;
}

interface Drawn {
  readonly title: string;
  readonly id: string;
  readonly shape: readonly number[];
  readonly theme: Theme;
}

function ArrayOf({ title, id, shape, theme, numbers }: Drawn & { readonly numbers: readonly number[] }): JSX.Element {
  if (numbers.length <= 2 * WHOLE_LIMIT) return <Matrix title={title} id={id} numbers={numbers} shape={shape} />;
  return <HeatMap title={title} id={id} numbers={numbers} shape={shape} theme={theme} />;
}

function wholeIn(series: NodeSeries | undefined, record: RecordedStep, what: WhatKept): readonly number[] | undefined {
  return series?.whole.get(recordIn(series, record))?.[what];
}

// An array that is too large to come with its step is asked for when it is looked at.
function Fetched({ client, record, row, what, ...drawn }: Drawn & {
  readonly client: Client;
  readonly record: RecordedStep;
  readonly row: number;
  readonly what: WhatKept;
}): JSX.Element {
  const [reply, setReply] = useState<Result<readonly number[]> | undefined>(undefined);
  useEffect(() => {
    let current = true;
    setReply(undefined);
    void client.tensor(record, row, what).then((answer) => current && setReply(answer));
    return () => {
      current = false;
    };
  }, [record, row, what]);
  if (reply?.ok) return <ArrayOf {...drawn} numbers={reply.value} />;
  return <p class="faint" data-testid={`${drawn.id}-fetched`}>{reply === undefined ? `${drawn.title}: loading…` : reply.error}</p>;
}
