// Writes changes into the existing items directly, because comparing all attributes of hundreds of
// virtual items is slower.

// Values by attribute; undefined: none. The last one is the text of the first element in the item,
// or else of the item itself.
export type Changing = readonly (string | undefined)[];

// data-at is the index of the item.
export function rewriter(list: Element | null, items: string, attributes: readonly string[]): (changing: (at: number) => Changing) => void {
  const found = [...(list?.querySelectorAll<HTMLElement>(items) ?? [])].map((item) => ({
    item,
    at: Number(item.dataset.at),
    before: [null] as readonly unknown[],
  }));
  return (changing) => {
    for (const each of found) {
      const now = changing(each.at);
      const known = each.before.length === now.length;
      for (let i = 0; i < now.length; i++) if (!known || now[i] !== each.before[i]) write(each.item, attributes[i], now[i]);
      each.before = now;
    }
  };
}

function write(item: HTMLElement, name: string | undefined, value: string | undefined): void {
  if (name === undefined) (item.firstElementChild ?? item).textContent = value!;
  else if (value === undefined) item.removeAttribute(name);
  else item.setAttribute(name, value);
}
