// Gives the browser a language that Intl accepts, because uPlot asks Intl for it when it is loaded.
//
// Without a locale (LANG=C) WebKitGTK calls its language "C", which is no language tag, and the panel would not open.

export function mendLanguage(): void {
  try {
    Intl.getCanonicalLocales(navigator.language);
  } catch {
    Object.defineProperty(navigator, "language", { value: "en-US", configurable: true });
  }
}

mendLanguage();
