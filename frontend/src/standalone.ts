// The entry of a file made by `tb-gradgraph export --html`: runs the panel with the answers in the file.

import { embeddedFetch } from "./api/embedded";
import { mount } from "./panel/mount";

export function render(place: HTMLElement, answers: ArrayBuffer, workerUrl: string): void {
  mount(place, { alone: true, answer: embeddedFetch(answers), workerUrl });
}
