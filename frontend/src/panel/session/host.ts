// TensorBoard around the panel: its theme, its address, its reload button.
//
// The frame is same-origin in TensorBoard. In a notebook, or when it is embedded elsewhere, the
// parent may be inaccessible, so every access is guarded.

import { listen, type Dispose } from "../../base/disposer";

// The window whose address holds the state: that of TensorBoard, or our own.
function addressWindow(): Window {
  try {
    void window.parent.location.hash;
    return window.parent;
  } catch {
    return window;
  }
}

// The page as a link names it, without the hash.
export function pageAddress(): string {
  return addressWindow().location.href.replace(/#.*$/, "");
}

export function readHash(): string {
  return addressWindow().location.hash;
}

// Replaces the hash without adding an entry to the history. While another tab of
// TensorBoard is shown (our frame has no height) the address is not ours.
export function writeHash(hash: string): void {
  if (window.innerHeight === 0) return;
  const target = addressWindow();
  if (target.location.hash.replace(/^#/, "") === hash) return;
  try {
    target.history.replaceState(target.history.state, "", `#${hash}`);
  } catch {
    // Browsers limit how often this works. The next change writes again.
  }
}

export function watchHash(onChange: () => void): Dispose {
  return listen(addressWindow(), "hashchange", onChange);
}

// TensorBoard marks its body. Outside TensorBoard, the preference of the system is used.
export function watchDarkMode(onChange: (dark: boolean) => void): Dispose {
  try {
    const { body } = window.parent.document;
    if (window.parent !== window && body !== null) {
      const read = (): void => onChange(body.classList.contains("dark-mode"));
      const observer = new MutationObserver(read);
      observer.observe(body, { attributes: true, attributeFilter: ["class"] });
      read();
      return () => observer.disconnect();
    }
  } catch {
    // Falls through to the system's preference.
  }
  const query = window.matchMedia("(prefers-color-scheme: dark)");
  onChange(query.matches || document.body.classList.contains("dark-mode"));
  return listen(query, "change", () => onChange(query.matches));
}

// Some systems name a language that is none, such as "C". Libraries that write numbers in it would fail.
export function correctLanguage(): void {
  try {
    Intl.getCanonicalLocales(navigator.language);
  } catch {
    Object.defineProperty(navigator, "language", { value: "en-US", configurable: true });
  }
}

interface HostMessage {
  readonly type: string;
  readonly id: number;
  readonly isReply: boolean;
}

// TensorBoard's plugin protocol: JSON over a MessagePort that is passed to the parent. Only one of
// its four messages, "data reloaded", is needed here.
export function watchReload(onReload: () => void): Dispose {
  if (window.parent === window) return () => undefined;
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = (event: MessageEvent<unknown>) => {
    const message = parseMessage(event.data);
    if (message === undefined || message.isReply) return;
    if (message.type === "experimental.DataReloaded") onReload();
    port1.postMessage(JSON.stringify({ type: message.type, id: message.id, payload: null, error: null, isReply: true }));
  };
  try {
    window.parent.postMessage("experimental.bootstrap", "*", [port2]);
  } catch {
    // Without a host, no message will arrive.
  }
  return () => port1.close();
}

function parseMessage(text: unknown): HostMessage | undefined {
  try {
    return JSON.parse(String(text)) as HostMessage;
  } catch {
    return undefined;
  }
}
