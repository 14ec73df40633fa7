// Weekly partitions: made ahead, made on demand for what is older or later, dropped whole when old, unless work in them is unfinished.

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pino } from 'pino';
import { ClockCheck, type ClockDifferences } from '../../../src/postgres/clock-check.js';
import { Maintenance, partitionBounds } from '../../../src/postgres/maintenance.js';
import { messageColumns, pending } from '../../../src/postgres/messages/message-columns.js';
import {
  dropOldPartitions,
  ensurePartitions,
  weekOfMessageMs,
  weekStartMs,
  withPartitions,
} from '../../../src/postgres/partitions.js';
import { aMessage, anOutcome, openRecorder, type OpenRecorder } from '../../kit/messages.js';
import { processTime } from '../../../src/time/process-time.js';

const DAY = 86_400_000;
const WEEK = 7 * DAY;
const YEAR = 365 * DAY;

let table: OpenRecorder;
let nowMs: number;
beforeAll(async () => {
  table = await openRecorder();
  nowMs = table.clock.value;
});
afterAll(() => table.close());

async function partitions(): Promise<string[]> {
  const rows = await table.database.text<{ name: string }>(
    `select relname as name from pg_class where relispartition and relkind = 'r' order by 1`,
  );
  return rows.map(({ name }) => name);
}

const nameOf = (timeMs: number, of = 'messages'): string =>
  `${of}_${new Date(weekStartMs(timeMs)).toISOString().slice(0, 10).replaceAll('-', '')}`;

async function insert(dueAtMs: number): Promise<string> {
  const message = aMessage({ tenantId: table.tenantId, dueAtMs });
  await table.recorder.accept([{ message, keys: [] }]);
  return message.id;
}

describe('a week', () => {
  it('begins on Monday at midnight UTC, before 1970 too', () => {
    for (const timeMs of [0, nowMs, -YEAR, Date.UTC(2026, 11, 31), Date.UTC(2028, 1, 29)]) {
      const start = weekStartMs(timeMs);
      expect(new Date(start).getUTCDay()).toBe(1);
      expect(Math.abs(start % DAY)).toBe(0);
      expect(timeMs - start).toBeGreaterThanOrEqual(0);
      expect(timeMs - start).toBeLessThan(WEEK);
    }
  });

  it("of a message is that of its id's time", () => {
    const { id, dueAtMs } = aMessage();
    expect(weekOfMessageMs(id)).toBe(weekStartMs(dueAtMs));
  });
});

describe('partitions', () => {
  it('reach as far ahead as anything may be due, with weeks to spare', async () => {
    const { untilMs } = partitionBounds(nowMs, { delayMaxMs: 400 * DAY });
    expect(untilMs).toBeGreaterThan(nowMs + 400 * DAY + 2 * WEEK);
    expect(await partitions()).toContain(nameOf(nowMs + 400 * DAY));
  });

  it('are made once, though five nodes do it at once', async () => {
    const bounds = { fromMs: nowMs + 2 * YEAR, untilMs: nowMs + 2 * YEAR + 3 * WEEK };
    const made = await Promise.all(Array.from({ length: 5 }, () => ensurePartitions(table.database, bounds)));
    const names = made.flat();
    expect(new Set(names).size).toBe(names.length);
    expect(names).toHaveLength(8);
    expect(await ensurePartitions(table.database, bounds)).toEqual([]);
  });

  it('hold the first and the last millisecond of their week', async () => {
    const start = weekStartMs(nowMs + 5 * WEEK);
    for (const dueAtMs of [start, start + WEEK - 1]) {
      const id = await insert(dueAtMs);
      const rows = await table.database.text('select tableoid::regclass::text as name from messages where id = $1', [
        id,
      ]);
      expect(rows).toEqual([{ name: nameOf(start) }]);
    }
  });

  it('are made on demand for what is far older or later than any of them', async () => {
    for (const dueAtMs of [nowMs - 3 * YEAR, nowMs + 5 * YEAR]) {
      expect(await partitions()).not.toContain(nameOf(dueAtMs));
      const id = await insert(dueAtMs);
      expect(await table.database.text('select state from messages where id = $1', [id])).toEqual([
        { state: 'pending' },
      ]);
      expect(await partitions()).toEqual(expect.arrayContaining([nameOf(dueAtMs), nameOf(dueAtMs, 'attempts')]));
    }
  });

  it('are made on demand for one write; another fault of it is passed on', async () => {
    let tries = 0;
    const fault = new Error('something else');
    await expect(
      withPartitions(table.database, [nowMs], () => {
        tries += 1;
        throw fault;
      }),
    ).rejects.toBe(fault);
    expect(tries).toBe(1);
  });

  it('are kept when work comes into them at the last moment', async () => {
    const lateAtMs = nowMs - 43 * WEEK;
    const other = aMessage({ tenantId: table.tenantId, dueAtMs: lateAtMs });
    await table.recorder.accept([{ message: other, keys: [] }]);
    await table.recorder.record(anOutcome(other));
    let dropping: Promise<string[]> = Promise.resolve([]);
    await table.database.transaction(async (connection) => {
      const late = aMessage({ tenantId: table.tenantId, dueAtMs: lateAtMs });
      await connection.run('insert-messages', messageColumns([pending(late)]));
      dropping = dropOldPartitions(table.database, nowMs - 42 * WEEK);
      // It has looked, and waits for the lock.
      await expect
        .poll(() =>
          table.database.text(
            `select 1 from pg_locks join pg_database d on d.oid = database
              where datname = current_database() and not granted and mode = 'AccessExclusiveLock'`,
          ),
        )
        .not.toEqual([]);
    });
    expect(await dropping).not.toContain(nameOf(lateAtMs));
    expect(await table.database.text('select 1 from messages where id = $1', [other.id])).toHaveLength(1);
  });

  it('are dropped whole when old, and kept while unfinished work lies in them', async () => {
    const [doneAtMs, openAtMs] = [nowMs - 40 * WEEK, nowMs - 41 * WEEK];
    const done = aMessage({ tenantId: table.tenantId, dueAtMs: doneAtMs });
    await table.recorder.accept([{ message: done, keys: [] }]);
    await table.recorder.record(anOutcome(done, { state: 'failed', attempt: 4 }));
    const open = await insert(openAtMs);

    const dropped = await dropOldPartitions(table.database, nowMs - 13 * WEEK);
    expect(dropped).toEqual(expect.arrayContaining([nameOf(doneAtMs), nameOf(doneAtMs, 'attempts')]));
    expect(dropped).not.toContain(nameOf(openAtMs));
    expect(await table.database.text('select 1 from messages where id = $1', [done.id])).toEqual([]);
    expect(await table.database.text('select 1 from messages where id = $1', [open])).toHaveLength(1);

    await table.recorder.record(anOutcome(aMessage({ id: open, tenantId: table.tenantId, dueAtMs: openAtMs })));
    expect(await dropOldPartitions(table.database, nowMs - 13 * WEEK)).toContain(nameOf(openAtMs));
  });

  it('are kept until what was due in them ended long enough ago (issue 12, entry 6)', async () => {
    const dueAtMs = nowMs - 50 * WEEK;
    const late = aMessage({ tenantId: table.tenantId, dueAtMs });
    await table.recorder.accept([{ message: late, keys: [] }]);
    await table.recorder.record(anOutcome(late, { state: 'failed', attempt: 4, endedAtMs: nowMs }));
    expect(await dropOldPartitions(table.database, nowMs - 13 * WEEK)).not.toContain(nameOf(dueAtMs));
    expect(await table.database.text('select 1 from attempts where message_id = $1', [late.id])).toHaveLength(1);
    // "Since then" holds the moment itself.
    expect(await dropOldPartitions(table.database, nowMs)).not.toContain(nameOf(dueAtMs));
    expect(await dropOldPartitions(table.database, nowMs + 1)).toEqual(
      expect.arrayContaining([nameOf(dueAtMs), nameOf(dueAtMs, 'attempts')]),
    );
  });

  it('of the present and the future are never dropped', async () => {
    await dropOldPartitions(table.database, nowMs);
    const names = await partitions();
    for (const timeMs of [nowMs, nowMs + WEEK, nowMs + 400 * DAY]) {
      expect(names).toEqual(expect.arrayContaining([nameOf(timeMs), nameOf(timeMs, 'attempts')]));
    }
  });
});

describe('clocks that disagree (issue 12, entry 8)', () => {
  const log = pino({ level: 'silent' });
  const settings = { time: processTime, everyMs: 3_600_000, delayMaxMs: 400 * DAY, retentionMs: 13 * WEEK };
  // Whichever of them is wrong.
  const WRONG: readonly [string, number, number][] = [
    ['Redis is ahead', 30 * WEEK, 0],
    ['Redis is behind', -10_000, 0],
    ['the node is ahead', 0, 10_000],
    ['PostgreSQL is behind both', 10_000, 10_000],
  ];

  it.each(WRONG)('delete nothing, and are told once: %s', async (_name, redisMs, nodeMs) => {
    const told: (ClockDifferences | null)[] = [];
    const ahead = { redisMs, nodeMs };
    const clock = { nowMs: () => Date.now() + ahead.redisMs };
    const nodeClock = { nowMs: () => Date.now() + ahead.nodeMs };
    const onChange = (differences: ClockDifferences | null): void => void told.push(differences);
    const clocks = new ClockCheck(table.database, clock, nodeClock, {
      time: processTime,
      everyMs: 60_000,
      toleranceMs: 5_000,
      onChange,
    });
    const maintenance = new Maintenance(table.database, clock, settings, log, clocks);
    const before = await partitions();
    await maintenance.run();
    await maintenance.run();
    expect(await partitions()).toEqual(expect.arrayContaining(before));
    expect(told).toHaveLength(1);
    expect(clocks.differenceMs).toBeGreaterThan(9_000);
    Object.assign(ahead, { redisMs: 0, nodeMs: 0 });
    expect(await clocks.agree()).toBe(true);
    expect(told.slice(1)).toEqual([null]);
    expect(clocks.differenceMs).toBeLessThan(5_000);
  });
});

describe('maintenance', () => {
  it('makes, drops and forgets in one go, and once more changes nothing', async () => {
    const lines: unknown[] = [];
    const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const clock = { nowMs: () => nowMs + 30 * WEEK };
    const settings = { time: processTime, everyMs: 3_600_000, delayMaxMs: 400 * DAY, retentionMs: 13 * WEEK };
    const maintenance = new Maintenance(table.database, clock, settings, log);
    const message = aMessage({ tenantId: table.tenantId });
    await table.recorder.accept([{ message, keys: [{ scope: 'deduplication', key: 'soon over' }] }]);
    await table.recorder.record(anOutcome(message));
    await maintenance.run();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ expiredKeys: 1 });
    expect(await partitions()).toContain(nameOf(clock.nowMs() + 400 * DAY));
    expect(await partitions()).not.toContain(nameOf(nowMs));
    expect(await table.database.text(`select 1 from idempotency_keys where key = 'soon over'`)).toEqual([]);
    await maintenance.run();
    expect(lines).toHaveLength(1);
    await maintenance.stop();
  });
});

describe('the indexes by time (issue 12, the log full of BRIN lines)', () => {
  const automatic = async (): Promise<string[]> => {
    const rows = await table.database.text<{ name: string }>(
      `select relname as name from pg_class where relkind = 'i' and reloptions @> array['autosummarize=on'] order by 1`,
    );
    return rows.map(({ name }) => name);
  };
  const settings = { time: processTime, everyMs: 3_600_000, delayMaxMs: 400 * DAY, retentionMs: 20 * YEAR };
  const maintain = (): Promise<void> =>
    new Maintenance(table.database, table.clock, settings, pino({ level: 'silent' })).run();

  it('of new weeks ask PostgreSQL for no summaries, and maintenance turns off those that did', async () => {
    expect(await automatic()).toEqual([]);
    const index = `${nameOf(nowMs + 50 * WEEK)}_created_at_idx`;
    await table.database.text(`alter index ${index} set (autosummarize = on)`);
    await maintain();
    expect(await automatic()).toEqual([]);
  });

  it('are summarized by maintenance', async () => {
    const weekMs = weekStartMs(nowMs + 50 * WEEK);
    const messages = Array.from({ length: 300 }, () =>
      aMessage({
        tenantId: table.tenantId,
        dueAtMs: weekMs + 1_000,
        headers: { padding: [randomBytes(900).toString('hex')] },
      }),
    );
    await table.database.run('insert-messages', messageColumns(messages.map(pending)));
    const index = `${nameOf(weekMs)}_created_at_idx`;
    const left = async (): Promise<number> => {
      const [row] = await table.database.text<{ ranges: number }>(
        `select brin_summarize_new_values('${index}') as ranges`,
      );
      return row!.ranges;
    };
    await maintain();
    expect(await left()).toBe(0);
    await table.database.run(
      'insert-messages',
      messageColumns(messages.map((message) => pending({ ...message, id: aMessage({ dueAtMs: weekMs + 2_000 }).id }))),
    );
    expect(await left()).toBeGreaterThan(0);
  });
});
