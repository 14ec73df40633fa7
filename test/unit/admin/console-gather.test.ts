// The console's pages out of several answers of the node.

import { describe, expect, it } from 'vitest';
import { gather, type ReadPage } from '../../../web/api/gather.js';

/** A node that looks at three of the numbers below 100 in an answer, and gives those that are wanted. */
function node(isWanted: (number: number) => boolean): { read: ReadPage<number>; asked: number[] } {
  const asked: number[] = [];
  return {
    asked,
    read: (cursor, count) => {
      asked.push(count);
      const from = cursor === '' ? 0 : Number(cursor);
      const items = [from, from + 1, from + 2].filter(isWanted).slice(0, count);
      const next = items.length === count ? (items.at(-1) ?? 0) + 1 : from + 3;
      return Promise.resolve({ items, cursor: next < 100 ? String(next) : undefined });
    },
  };
}

const { signal } = new AbortController();
const all = { cursor: '', count: 4, longestMs: 60_000, signal };

describe('a page of the console', () => {
  it('is read on until it is full, and no further', async () => {
    const { read, asked } = node((number) => number % 10 === 0);
    expect(await gather(read, all)).toEqual({ items: [0, 10, 20, 30], cursor: '31' });
    expect(asked.at(-1)).toBe(1);
    expect(await gather(read, { ...all, cursor: '31' })).toEqual({ items: [40, 50, 60, 70], cursor: '71' });
  });

  it('ends where nothing follows', async () => {
    const { read } = node((number) => number === 97);
    expect(await gather(read, all)).toEqual({ items: [97], cursor: undefined });
  });

  it('is not looked for any longer than it may, but always asked for once', async () => {
    const { read, asked } = node(() => false);
    expect(await gather(read, { ...all, longestMs: 0 })).toEqual({ items: [], cursor: '3' });
    expect(asked).toHaveLength(1);
  });

  // Issue 11, entry A2.
  it('is read on past pages without anything, and given up when the cursor does not move', async () => {
    const { read } = node((number) => number === 60);
    expect(await gather(read, { ...all, count: 1 })).toEqual({ items: [60], cursor: '61' });
    const stuck: ReadPage<number> = () => Promise.resolve({ items: [], cursor: '7' });
    await expect(gather(stuck, all)).rejects.toThrow('the same cursor');
  });

  it('is no longer read when the question has changed', async () => {
    const abort = new AbortController();
    const { read, asked } = node(() => false);
    const leave: ReadPage<number> = (cursor, count, given) => {
      abort.abort();
      return read(cursor, count, given);
    };
    await gather(leave, { ...all, signal: abort.signal });
    expect(asked).toHaveLength(1);
  });
});
