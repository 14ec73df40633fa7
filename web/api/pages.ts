// Turns the pages of a list that has cursors: back and forth, one page in memory, from the start again when the question changes.

import { useEffect, useState } from 'preact/hooks';
import { gather, type Page, type ReadPage } from './gather.js';
import { useLoaded, type Loaded } from './loaded.js';

export interface Pages<Item> extends Loaded<Page<Item>> {
  /** From 1. */
  readonly number: number;
  readonly next: (() => void) | null;
  readonly previous: (() => void) | null;
}

/** Typing must not ask for each letter. */
const TYPING_MS = 160;

/** Where few are found a page is looked for so long. */
const LOOKING_MS = 1_000;

/** `key` is the question: what is filtered by, as text. `count` is how many a page has. */
export function usePages<Item>(key: string, count: number, read: ReadPage<Item>, everyMs = 0): Pages<Item> {
  // The cursors of the pages up to the shown one.
  const [trail, setTrail] = useState<readonly string[]>(['']);
  useEffect(() => setTrail(['']), [key]);
  const cursor = trail.at(-1) ?? '';
  const loaded = useLoaded(
    `${key}\n${cursor}`,
    (signal) => gather(read, { cursor, count, longestMs: LOOKING_MS, signal }),
    { waitMs: TYPING_MS, keepOld: true, everyMs },
  );
  const after = loaded.value?.cursor;
  return {
    ...loaded,
    number: trail.length,
    next: after === undefined ? null : () => setTrail([...trail, after]),
    previous: trail.length === 1 ? null : () => setTrail(trail.slice(0, -1)),
  };
}
