// Issue 11, entry A2: how the command line client reads lists whose pages may be short, or empty.

import { describe, expect, it } from 'vitest';
import { pagesFrom, type Paged } from '../../../cli/pages.js';

async function cursors(pages: AsyncGenerator<Paged>): Promise<(string | undefined)[]> {
  const all: (string | undefined)[] = [];
  for await (const { cursor } of pages) all.push(cursor);
  return all;
}

describe('the pages of a list', () => {
  it('go on with the cursor, from where it is wanted, until there is none', async () => {
    const read = (cursor = '0'): Promise<Paged> =>
      Promise.resolve(cursor === '3' ? {} : { cursor: String(Number(cursor) + 1) });
    expect(await cursors(pagesFrom(read))).toEqual(['1', '2', '3', undefined]);
    expect(await cursors(pagesFrom(read, '2'))).toEqual(['3', undefined]);
  });

  it('end with a fault when a cursor leads to itself', async () => {
    const pages = pagesFrom(() => Promise.resolve({ cursor: 'same' }));
    await expect(cursors(pages)).rejects.toThrow('its cursor same stays the same');
  });
});
