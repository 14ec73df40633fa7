// Computes the slot of a key in a Redis Cluster, and keys for given ranges of slots.

import calculateSlot from 'cluster-key-slot';

/** Slots of every Redis Cluster. */
export const SLOTS = 16_384;

/** Returns whether a key is selected. */
export type KeyFilter = (key: string) => boolean;

export const everyKey: KeyFilter = () => true;

/** Returns the filter of the keys in these slots. */
export function servedBy(slots: ReadonlySet<number>): KeyFilter {
  return (key) => slots.has(calculateSlot(key));
}

/** Returns the range of slots, from 0, that contains a key, when all slots are divided into this many equal ranges. */
export function slotRangeOf(key: string, ranges: number): number {
  return Math.floor((calculateSlot(key) * ranges) / SLOTS);
}

/** Returns for each of this many equal ranges of slots a hash tag that starts with `name` and belongs to the range. */
export function tagsOfSlotRanges(name: string, ranges: number): string[] {
  const tags: (string | undefined)[] = Array.from({ length: ranges }, () => undefined);
  let missing = ranges;
  for (let number = 0; missing > 0; number += 1) {
    const tag = `${name}-${number}`;
    const range = slotRangeOf(tag, ranges);
    if (tags[range] !== undefined) continue;
    tags[range] = tag;
    missing -= 1;
  }
  return tags.map((tag) => tag ?? name);
}
