// Slots: how a node's capacity is shared by its actors.

import { describe, expect, it } from 'vitest';
import { Semaphore } from '../../../src/actor/semaphore.js';
import { processTime } from '../../../src/time/process-time.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('slots', () => {
  it('are given at once while there are some, as many as are free', async () => {
    const slots = new Semaphore(5);
    expect(await slots.acquire(3).granted).toBe(3);
    expect(await slots.acquire(3).granted).toBe(2);
    expect(slots.free).toBe(0);
  });

  it('that come free in one turn go together to the first who waits', async () => {
    const slots = new Semaphore(4);
    await slots.acquire(4).granted;
    const first = slots.acquire(3).granted;
    const second = slots.acquire(3).granted;
    for (let released = 0; released < 4; released++) slots.release(1);
    expect(await first).toBe(3);
    expect(await second).toBe(1);
  });

  it('that come free one by one wait for each other, but not for long', async () => {
    const slots = new Semaphore(8, { gather: { time: processTime, permits: 2, forMs: 5 } });
    await slots.acquire(8).granted;
    const first = slots.acquire(4).granted;
    slots.release(1);
    await turn();
    slots.release(1);
    expect(await first).toBe(2);
    const second = slots.acquire(4).granted;
    slots.release(1);
    expect(await second).toBe(1);
  });

  it('are not overtaken by who comes while others wait', async () => {
    const slots = new Semaphore(1);
    await slots.acquire(1).granted;
    const order: string[] = [];
    const first = slots.acquire(1).granted.then(() => order.push('first'));
    slots.release(1);
    const second = slots.acquire(1).granted.then(() => order.push('second'));
    await first;
    slots.release(1);
    await second;
    expect(order).toEqual(['first', 'second']);
  });

  it('come back early for a bounded number of unrecorded deliveries', async () => {
    const slots = new Semaphore(2, { minReleasedBeforeCommit: 0 });
    for (let delivery = 0; delivery < 2; delivery++) {
      await slots.acquire(1).granted;
      expect(slots.releaseBeforeCommit()).toBe(true);
    }
    expect(await slots.acquire(2).granted).toBe(2);
    expect(slots.releaseBeforeCommit()).toBe(false);
    slots.recorded();
    expect(slots.releaseBeforeCommit()).toBe(true);
    await turn();
    expect(slots.free).toBe(1);
  });
});
