// Partitions that come and go while somebody reads for long, and changes of schedules that are forgotten with age.

import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Maintenance } from '../../../src/postgres/maintenance.js';
import { dropOldPartitions, ensurePartitions, weekStartMs } from '../../../src/postgres/partitions.js';
import { openRecorder, type OpenRecorder } from '../../kit/messages.js';
import { processTime } from '../../../src/time/process-time.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
const WEEK_MS = 7 * DAY_MS;
/** A week that has no partition yet. */
const OLD_MS = weekStartMs(Date.UTC(2020, 0, 15));

let table: OpenRecorder;
beforeAll(async () => {
  table = await openRecorder();
});
afterAll(() => table.close());

/** Holds a lock on the messages while `work` runs. */
function whileLocked<Result>(mode: string, work: () => Promise<Result>): Promise<Result> {
  return table.database.transaction(async (connection) => {
    await connection.text(`lock table messages in ${mode} mode`);
    return work();
  });
}

it('a drop does not wait for a long reader, and is done the next time', async () => {
  const names = ['messages_20200113', 'attempts_20200113'];
  expect(await ensurePartitions(table.database, { fromMs: OLD_MS, untilMs: OLD_MS })).toEqual(names);
  const postponed: string[] = [];
  const drop = () => dropOldPartitions(table.database, OLD_MS + WEEK_MS, (left) => postponed.push(...left));
  expect(await whileLocked('access share', drop)).toEqual([]);
  expect(postponed).toEqual(names);
  expect(await drop()).toEqual(names);
});

it('a partition that cannot be attached is left to the next time, unless it is needed now', async () => {
  const fromMs = OLD_MS + 10 * WEEK_MS;
  const bounds = { fromMs, untilMs: fromMs };
  const mode = 'share update exclusive';
  const postponed: string[] = [];
  const ensureLater = () =>
    ensurePartitions(table.database, { ...bounds, neededUntilMs: 0 }, (left) => postponed.push(...left));
  expect(await whileLocked(mode, ensureLater)).toEqual([]);
  expect(postponed).toHaveLength(2);
  const needed = whileLocked(mode, () => ensurePartitions(table.database, bounds));
  await expect(needed).rejects.toMatchObject({ code: 'POSTGRES_UNAVAILABLE' });
  expect(await ensurePartitions(table.database, bounds)).toEqual(postponed);
});

it('changes of schedules are forgotten when they are older than what is kept', async () => {
  const nowMs = Date.now();
  await table.database.text(
    `insert into schedule_changes (tenant_id, schedule_id, at, generation, change)
     select 1, 'nightly', to_timestamp($1 / 1000.0) - n * interval '1 day', 1, 'edited' from generate_series(0, 9) n`,
    [nowMs],
  );
  const settings = { time: processTime, everyMs: WEEK_MS, delayMaxMs: WEEK_MS, retentionMs: 4.5 * DAY_MS };
  await new Maintenance(table.database, table.clock, settings, pino({ level: 'silent' })).run();
  expect(await table.database.text('select at from schedule_changes')).toHaveLength(5);
});
