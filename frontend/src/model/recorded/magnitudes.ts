// Where the numbers of a statistic lie over all records of a tag, signs and zeros aside.

export type Domain = readonly [number, number];

export interface Magnitudes {
  readonly domain: Domain;
  readonly fences: Domain; // what is beyond lies far outside of the others
}

export function around(domains: readonly Domain[]): Domain {
  return [Math.min(...domains.map(([low]) => low)), Math.max(...domains.map(([, high]) => high))];
}
