/** Reads a list to its end, or as far as is wanted: a page may be short or empty and still have a cursor. */

import { CliError } from './io.js';

export interface Paged {
  /** Absent on the last page. */
  readonly cursor?: string;
}

/**
 * The pages of a list, one after the other. Throws when a cursor leads nowhere but to itself: then the list would never
 * end.
 */
export async function* pagesFrom<Page extends Paged>(
  read: (cursor: string | undefined) => Promise<Page>,
  from?: string,
): AsyncGenerator<Page> {
  for (let cursor = from; ;) {
    const page = await read(cursor);
    yield page;
    if (page.cursor === undefined) return;
    if (page.cursor === cursor) throw new CliError(`the list does not go on: its cursor ${cursor} stays the same`, 1);
    cursor = page.cursor;
  }
}
