// Looks for new records while the panel is visible, because TensorBoard's own reload is off by default.

import { Disposer, listen, type Dispose } from "../base/disposer";
import type { Session } from "./session/session";

// TensorBoard itself reads its files every 5 seconds.
const SOONEST_MS = 5000;
const LATEST_MS = 30_000;
// The longer nothing has changed, the less often the server is asked.
const PATIENCE = 10;

// While another tab of TensorBoard is shown, this frame has no height.
function isInSight(): boolean {
  return window.innerHeight > 0 && document.visibilityState === "visible";
}

export function watchGrowth(session: Session, soonestMs = SOONEST_MS): Dispose {
  const { store } = session;
  const disposer = new Disposer();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pulse: string | undefined;
  let changedAt = performance.now();
  let asking = false;
  let closed = false;
  const later = (): void => {
    clearTimeout(timer);
    const wait = Math.max(soonestMs, Math.min(LATEST_MS, (performance.now() - changedAt) / PATIENCE));
    if (!closed) timer = setTimeout(() => void look(), wait);
  };
  const look = async (): Promise<void> => {
    if (asking || !isInSight()) return later();
    asking = true;
    const reply = await session.client.pulse();
    store.live.unreachable.value = !reply.ok;
    if (reply.ok && reply.value !== pulse && !closed && (await session.reload())) {
      if (pulse !== undefined) changedAt = performance.now();
      pulse = reply.value;
    }
    asking = false;
    later();
  };
  const back = (): void => {
    if (isInSight()) void look();
  };
  disposer.add(listen(document, "visibilitychange", back));
  let height = window.innerHeight;
  disposer.add(
    listen(window, "resize", () => {
      const shown = height === 0;
      height = window.innerHeight;
      if (shown) back();
    }),
  );
  disposer.add(() => {
    closed = true;
    clearTimeout(timer);
  });
  later();
  return () => disposer.dispose();
}
