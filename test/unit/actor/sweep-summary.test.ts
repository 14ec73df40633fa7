// What a node says of its sweeps: one line for all shards, and only where something was moved or failed.

import { pino } from 'pino';
import { expect, it } from 'vitest';
import { SweepSummary, type SweepEnd } from '../../../src/actor/sweep-summary.js';
import { processTime } from '../../../src/time/process-time.js';

function told(...ends: readonly Partial<SweepEnd>[]): Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'info' }, { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) });
  const summary = new SweepSummary(log, processTime, 60_000);
  for (const end of ends) {
    summary.add({ sweep: 'promote', result: 'done', queued: 0, read: 0, durationMs: 1, behindMs: 0, ...end });
  }
  summary.log();
  summary.log();
  return lines;
}

it('the sweeps of many shards are one line that says what was moved, how long it took and how far behind they were', () => {
  const shards = Array.from({ length: 256 }, (_, n) => ({ queued: 2, read: 3, durationMs: n, behindMs: 10 * n }));
  expect(told(...shards, { sweep: 'rescue', queued: 1, result: 'fenced' })).toMatchObject([
    {
      msg: 'swept',
      sweep: 'promote',
      shards: 256,
      queued: 512,
      read: 768,
      durationMs: 32_640,
      longestMs: 255,
      behindMs: 2_550,
      failed: 0,
    },
    { msg: 'swept', sweep: 'rescue', shards: 1, queued: 1, fenced: 1 },
  ]);
});

it('sweeps that find nothing to do are not worth a line, those that fail are', () => {
  expect(told({ read: 5 }, { sweep: 'rescue' })).toEqual([]);
  expect(told({ result: 'failed' })).toMatchObject([{ sweep: 'promote', failed: 1 }]);
});
