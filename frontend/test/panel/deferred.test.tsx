// Parts of the panel that are loaded when they are first shown.

import { render, type JSX } from "preact";
import { afterEach, beforeEach, expect, test } from "vitest";
import { deferred, loadWhenIdle, type Deferred } from "../../src/panel/controls/deferred";
import { waitFor } from "../stage";

const Part = ({ text }: { readonly text: string }): JSX.Element => <b>{text}</b>;
let place: HTMLElement;

beforeEach(() => document.body.append((place = document.createElement("div"))));
afterEach(() => {
  render(null, place);
  place.remove();
});

test("a part is loaded once, whether it is shown several times or was loaded before", async () => {
  let asked = 0;
  const Late = deferred("The part", () => Promise.resolve((asked++, Part)));
  await Promise.all([Late.load(), Late.load()]);
  render([<Late text="one" />, <Late text="two" />], place);
  expect(place.textContent).toBe("onetwo");
  expect(asked).toBe(1);
});

test("a part that could not be loaded says so, and is loaded when it is tried again", async () => {
  let broken = true;
  const Late = deferred("The part", () => (broken ? Promise.reject(new TypeError("no such file")) : Promise.resolve(Part)));
  render(<Late text="here" />, place);
  await waitFor(() => expect(place.querySelector('[role="alert"]')).not.toBeNull());
  const failed = place.querySelector<HTMLElement>('[role="alert"]')!;
  expect(failed.textContent).toContain("The part could not be loaded.");
  expect(failed.title).toBe("TypeError: no such file");
  broken = false;
  failed.querySelector("button")!.click();
  await waitFor(() => expect(place.textContent).toBe("here"));
});

test("while the browser is idle parts are loaded in order; one that fails is tried again when it is shown", async () => {
  const asked: string[] = [];
  const part = (name: string, broken = false): Deferred<{ readonly text: string }> =>
    deferred(name, () => {
      asked.push(name);
      return broken && asked.filter((one) => one === name).length === 1 ? Promise.reject(new Error()) : Promise.resolve(Part);
    });
  const [First, Second, third] = [part("first"), part("second", true), part("third")];
  loadWhenIdle([First, Second, third]);
  await waitFor(() => expect(asked.length).toBe(3));
  expect(asked).toEqual(["first", "second", "third"]);
  render(<Second text="at last" />, place);
  await waitFor(() => expect(place.textContent).toBe("at last"));
});

test("once the panel is closed nothing more is loaded", async () => {
  let asked = false;
  const Late = deferred("The part", () => Promise.resolve(((asked = true), Part)));
  loadWhenIdle([Late])();
  await new Promise((done) => requestIdleCallback(done));
  expect(asked).toBe(false);
});
