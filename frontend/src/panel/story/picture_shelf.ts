// Keeps the pictures of marks in the browser: in its database, because its storage for texts is small.

const NAME = "gradgraph";
const SHELF = "pictures";

// What this page has taken or read; all there is if the browser gives no database.
const known = new Map<string, Promise<string | undefined>>();
let opened: Promise<IDBDatabase | undefined> | undefined;

// A data address; undefined: there is none. Waits for one that is being taken.
export function readPicture(id: string): Promise<string | undefined> {
  const found = known.get(id) ?? ask("readonly", (shelf) => shelf.get(id)).then(asPicture);
  known.set(id, found);
  return found;
}

function asPicture(found: unknown): string | undefined {
  return typeof found === "string" && found.startsWith("data:image/png;base64,") ? found : undefined;
}

// Without a picture, an earlier one is removed.
export async function keepPicture(id: string, picture: Promise<string | undefined>): Promise<void> {
  known.set(
    id,
    picture.catch(() => undefined),
  );
  const taken = await picture;
  if (taken === undefined) await ask("readwrite", (shelf) => shelf.delete(id));
  else await ask("readwrite", (shelf) => shelf.put(taken, id));
}

// Removes the pictures of marks that are gone.
export async function dropOtherPictures(ids: ReadonlySet<string>): Promise<void> {
  const keys = await ask("readonly", (shelf) => shelf.getAllKeys());
  for (const key of keys ?? []) if (typeof key === "string" && !ids.has(key)) await ask("readwrite", (shelf) => shelf.delete(key));
}

async function ask<T>(mode: IDBTransactionMode, request: (shelf: IDBObjectStore) => IDBRequest<T>): Promise<T | undefined> {
  opened ??= openShelf();
  const base = await opened;
  try {
    return base && (await answerOf(request(base.transaction(SHELF, mode).objectStore(SHELF))));
  } catch {
    return undefined; // full, or closed
  }
}

async function openShelf(): Promise<IDBDatabase | undefined> {
  try {
    const opening = window.indexedDB.open(NAME, 1);
    opening.onupgradeneeded = () => void opening.result.createObjectStore(SHELF);
    return await answerOf(opening);
  } catch {
    return undefined; // private windows and embedded pages may have none
  }
}

function answerOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("no answer"));
  });
}
