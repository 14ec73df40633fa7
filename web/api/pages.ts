// Turns the pages of a list that has cursors: back and forth, one page in memory, from the start again when the question changes.

import { useEffect, useState } from 'preact/hooks';
import { useLoaded, type Loaded } from './loaded.js';

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Absent on the last page. */
  readonly cursor?: string | undefined;
}

export interface Pages<Item> extends Loaded<Page<Item>> {
  /** From 1. */
  readonly number: number;
  readonly next: (() => void) | null;
  readonly previous: (() => void) | null;
}

/** Typing must not ask for each letter. */
const TYPING_MS = 160;

/** `key` is the question: what is filtered by, as text. `read` gets the cursor, '' for the first page. */
export function usePages<Item>(
  key: string,
  read: (cursor: string, signal: AbortSignal) => Promise<Page<Item>>,
  everyMs = 0,
): Pages<Item> {
  // The cursors of the pages up to the shown one.
  const [trail, setTrail] = useState<readonly string[]>(['']);
  useEffect(() => setTrail(['']), [key]);
  const cursor = trail.at(-1) ?? '';
  const loaded = useLoaded(`${key}\n${cursor}`, (signal) => read(cursor, signal), {
    waitMs: TYPING_MS,
    keepOld: true,
    everyMs,
  });
  const after = loaded.value?.cursor;
  return {
    ...loaded,
    number: trail.length,
    next: after === undefined ? null : () => setTrail([...trail, after]),
    previous: trail.length === 1 ? null : () => setTrail(trail.slice(0, -1)),
  };
}
