// Answers of the plugin's routes in one buffer, from a file made by `tb-gradgraph export --html`.
// It has a length, a JSON index of the answers, and the answers. It is used in place of the server.

import type { Fetch } from "./client";
import { keyOf } from "./requests";

interface Index {
  readonly answers: Readonly<Record<string, readonly [offset: number, length: number]>>;
}

export function embeddedFetch(pack: ArrayBuffer): Fetch {
  const start = 4 + new DataView(pack).getUint32(0, true);
  const index = JSON.parse(new TextDecoder().decode(new Uint8Array(pack, 4, start - 4))) as Index;
  const answers = new Map(Object.entries(index.answers));
  return (url) => {
    const found = answers.get(keyOf(url));
    if (found === undefined) {
      console.debug(`gradgraph: not in this file: ${url}`);
      return Promise.resolve(
        Response.json({ error: "This file does not contain that. TensorBoard can show it from the original log." }, { status: 404 }),
      );
    }
    const [offset, length] = found;
    return Promise.resolve(new Response(new Uint8Array(pack, start + offset, length)));
  };
}
