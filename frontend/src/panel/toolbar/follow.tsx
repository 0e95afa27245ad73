// Whether the latest step is followed, how many came since, and whether the server still answers.

import type { JSX } from "preact";
import { formatCount } from "../../base/format";
import { setFollow } from "../../state/live_actions";
import type { Store } from "../../state/store";

export function Follow({ store }: { readonly store: Store }): JSX.Element {
  const [follow, unseen] = [store.follow.value, store.unseen.value];
  return (
    <span class="follow">
      <button type="button" class="toggle" data-testid="follow" aria-pressed={follow} title={follow
        ? "Each new step is shown as it comes. Going to another step ends this. (L)"
        : "New steps are added as they come; what is shown stays. This goes to each new step instead. (L)"}
        onClick={() => setFollow(store, !follow)}>
        Follow latest
      </button>
      <span class="faint" data-testid="unseen" data-count={unseen} role="status">{unseen > 0 && `${formatCount(unseen)} new`}</span>
      {store.unreachable.value && (
        <span class="unreachable" data-testid="unreachable" role="status" title="TensorBoard does not answer. Is it still running? It is asked again every few seconds.">not connected</span>
      )}
    </span>
  );
}
