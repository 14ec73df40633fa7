// Issue 12, entry 2: whose list is read next.

import { describe, expect, it } from 'vitest';
import { ReadTurns } from '../../../src/postgres/read-turns.js';
import { processTime } from '../../../src/time/process-time.js';

const { signal } = new AbortController();
const LIMITS = { time: processTime, all: 3, each: 2, waitMs: 60_000 };

/** Takes a turn for each tenant; tells in which order they came, by their place in the list. */
function takeAll(turns: ReadTurns, tenants: readonly number[]): { begun: number[]; ends: Map<number, () => void> } {
  const begun: number[] = [];
  const ends = new Map<number, () => void>();
  tenants.forEach((tenant, index) => {
    void turns.take(tenant, signal).then((end) => {
      begun.push(index);
      ends.set(index, end);
    });
  });
  return { begun, ends };
}
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('turns to read', () => {
  it('are given to the tenant that has the fewest, in the order in which its lists came', async () => {
    const { begun, ends } = takeAll(new ReadTurns(LIMITS), [1, 1, 1, 1, 2, 3, 2]);
    await settled();
    expect(begun).toEqual([0, 1, 4]);
    ends.get(0)!();
    await settled();
    expect(begun).toEqual([0, 1, 4, 5]);
    ends.get(5)!();
    ends.get(5)!();
    await settled();
    expect(begun).toEqual([0, 1, 4, 5, 2]);
  });

  it('are refused to a list that waits too long, and to those of which too many wait', async () => {
    const short = new ReadTurns({ ...LIMITS, waitMs: 20 });
    takeAll(short, [1, 1]);
    await expect(short.take(1, signal)).rejects.toMatchObject({ code: 'TOO_MANY_READS' });
    const crowded = new ReadTurns(LIMITS);
    takeAll(
      crowded,
      Array.from({ length: 2 + 2 * 16 }, () => 1),
    );
    await expect(crowded.take(1, signal)).rejects.toMatchObject({ code: 'TOO_MANY_READS' });
  });

  it('are not given to who has left', async () => {
    const turns = new ReadTurns(LIMITS);
    const { ends } = takeAll(turns, [1, 1]);
    const left = new AbortController();
    const leaving = turns.take(1, left.signal);
    await settled();
    left.abort();
    await expect(leaving).rejects.toThrow('aborted');
    ends.get(0)!();
    // The turn that came free was not lost to it.
    await expect(turns.take(1, signal)).resolves.toBeTypeOf('function');
  });
});
