// A node as a link that selects it.

import type { JSX } from "preact";
import type { Graph } from "../../model/recorded/graph";
import { titleOf } from "../../model/recorded/titles";
import { calledAgain } from "../../model/tree/hierarchy";

export function NodeLink({
  graph,
  node,
  select,
  title,
}: {
  readonly graph: Graph;
  readonly node: number;
  readonly select: (id: string) => void;
  readonly title?: string;
}): JSX.Element {
  const { key, scope, operation } = graph.columns.nodes;
  const { path, call } = graph.columns.scopes;
  const inside = operation[node] === "" ? -1 : scope[node]!;
  return (
    <button type="button" class="link" data-key={key[node]} onClick={() => select(key[node]!)}>
      {title ?? titleOf(graph, node)}
      {inside !== -1 && path[inside] !== "" && (
        <span class="faint">
          {" "}
          {path[inside]}
          {calledAgain(graph, inside) ? `#${call[inside]}` : ""}
        </span>
      )}
    </button>
  );
}
