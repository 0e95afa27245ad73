// A browser without a language that Intl knows, as WebKitGTK is without a locale.

import { afterEach, expect, test } from "vitest";
import { mendLanguage } from "../../src/base/language";

function speak(language: string): void {
  Object.defineProperty(navigator, "language", { value: language, configurable: true });
}

afterEach(() => void Reflect.deleteProperty(navigator, "language"));

test("the language C becomes one in which numbers can be formatted", () => {
  speak("C");
  expect(() => new Intl.NumberFormat(navigator.language)).toThrow(RangeError);
  mendLanguage();
  expect(new Intl.NumberFormat(navigator.language).format(0.5)).toBe("0.5");
});

test("a language that Intl knows stays", () => {
  speak("de-CH");
  mendLanguage();
  expect(navigator.language).toBe("de-CH");
});
