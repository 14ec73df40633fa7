// Turns of sweeps: never more than there are, the soonest work first, nobody left out.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SweepTurns } from '../../../src/actor/sweep-turns.js';

it('are taken in the order of what is due, batch by batch, and never by more sweeps than there are turns', async () => {
  const batches = fc.array(fc.array(fc.nat(1_000), { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(batches, fc.integer({ min: 1, max: 4 }), async (shards, most) => {
      const turns = new SweepTurns(most);
      const order: number[] = [];
      let running = 0;
      const sweeps = shards.map(async (dueTimes) => {
        const sorted = [...dueTimes].sort((a, b) => a - b);
        await turns.acquire(0);
        running += 1;
        for (const [index, dueAtMs] of sorted.entries()) {
          expect(running).toBeLessThanOrEqual(most);
          order.push(dueAtMs);
          const next = sorted[index + 1];
          if (next === undefined) continue;
          running -= 1;
          await turns.pass(next);
          running += 1;
        }
        running -= 1;
        turns.release();
      });
      await Promise.all(sweeps);
      expect(order).toHaveLength(shards.flat().length);
      // With one turn: after everybody's first batch, what is due sooner comes first.
      if (most > 1) return;
      const later = order.slice(shards.length);
      const isSorted = later.every((dueAtMs, index) => index === 0 || (later[index - 1] ?? 0) <= dueAtMs);
      expect(isSorted).toBe(true);
    }),
  );
});
