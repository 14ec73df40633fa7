// Why did it run, or not: histories that were written into PostgreSQL, each with the one answer that is right for it.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ScheduleChange } from '../../../src/domain/explain-facts.js';
import { timestamp } from '../../kit/timestamp.js';
import { DAY, HOUR, MINUTE, Records, type RowSpec } from '../../kit/records.js';

const NOW_MS = Date.parse('2026-06-17T12:30:00Z');
/** The last hour that has come. */
const HOUR_MS = Date.parse('2026-06-17T12:00:00Z');
const iso = (timeMs: number): string => new Date(timeMs).toISOString();

interface Explained {
  readonly verdict: string;
  readonly text: string;
  readonly at: string;
  readonly nominal: string | null;
  readonly message: string | null;
  readonly before: string | null;
  readonly after: string | null;
  readonly evidence: readonly { readonly at: string | null; readonly text: string }[];
}

let records: Records;
beforeAll(async () => {
  records = await Records.open(NOW_MS, 2);
});
afterAll(() => records.close());
beforeEach(async () => {
  // Truncating the files of so many partitions takes longer than all that is tested.
  for (const table of ['messages', 'attempts', 'schedules', 'schedule_changes'])
    await records.database.text(`delete from ${table}`);
  await records.database.text('update shards set epoch = 0, node = null, granted_at = null');
});

interface ScheduleSpec {
  readonly cron?: string;
  readonly timeZone?: string;
  readonly state?: string;
  readonly overlap?: string;
  readonly misfire?: string;
  readonly windowMs?: number;
  readonly createdAtMs?: number;
  readonly nextFireAtMs?: number | null;
  readonly startAtMs?: number;
  readonly endAtMs?: number;
}

/** A schedule `job` on shard 3, created ten days ago unless said otherwise; hourly. */
async function schedule(spec: ScheduleSpec = {}): Promise<void> {
  const createdAtMs = spec.createdAtMs ?? NOW_MS - 10 * DAY;
  const state = spec.state ?? 'active';
  const next = spec.nextFireAtMs === undefined ? HOUR_MS + HOUR : spec.nextFireAtMs;
  await records.database.text(
    `insert into schedules (tenant_id, id, shard, state, cron, time_zone, anchor_at, destination, method, max_retries, timeout_ms,
       misfire, misfire_window_ms, overlap, window_ms, start_at, end_at, next_fire_at, created_at, updated_at)
     values ($1, 'job', 3, $2, $3, $4, $5, 'https://a.test/', 'POST', 3, 30000, $6, 86400000, $7, $8, $9, $10, $11, $5, $5)`,
    [
      records.tenants[0],
      ...[state, spec.cron ?? '0 * * * *', spec.timeZone ?? null, timestamp(createdAtMs)],
      ...[spec.misfire ?? 'once', spec.overlap ?? 'allow', spec.windowMs ?? 0],
      ...[timestamp(spec.startAtMs ?? null), timestamp(spec.endAtMs ?? null)],
      timestamp(state === 'active' ? next : null),
    ],
  );
  await change(createdAtMs, 'created', spec.cron);
}

async function change(atMs: number, what: ScheduleChange['change'], cron = '0 * * * *', generation = 1): Promise<void> {
  await records.database.run('insert-schedule-change', {
    tenantId: records.tenants[0],
    scheduleId: 'job',
    ...{ atMs, generation, change: what },
    detail: JSON.stringify({ cron, timeZone: null }),
  });
}

async function occurrence(spec: RowSpec = {}): Promise<string> {
  const occurrenceAtMs = spec.occurrenceAtMs ?? HOUR_MS;
  const [id] = await records.insert({
    kind: 'occurrence',
    scheduleId: 'job',
    shard: 3,
    occurrenceAtMs,
    dueAtMs: occurrenceAtMs,
    createdAtMs: occurrenceAtMs + 2,
    ...spec,
  });
  return `msg_${id}`;
}

const delivered = (startedAtMs: number, more: RowSpec = {}): RowSpec => ({
  ...{
    state: 'delivered',
    startedAtMs,
    finishedAtMs: startedAtMs + 20,
    attempts: 1,
    lastStatus: 200,
    node: 'node-2-ab',
  },
  ...more,
});

async function granted(atMs: number): Promise<void> {
  await records.database.text(`update shards set epoch = 18, node = 'node-3-cd', granted_at = $1 where shard = 3`, [
    timestamp(atMs),
  ]);
}

async function explain(at: number | string = HOUR_MS): Promise<Explained> {
  const answer = await records.get(`/v2/schedules/job/explain?at=${encodeURIComponent(String(at))}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.json as unknown as Explained;
}

const said = ({ evidence }: Explained): string[] => evidence.map(({ text }) => text);

describe('an occurrence that ran', () => {
  it('in time', async () => {
    await schedule();
    const message = await occurrence(delivered(HOUR_MS + 4));
    const explained = await explain(iso(HOUR_MS));
    expect(explained).toMatchObject({
      ...{ verdict: 'ran', message, at: iso(HOUR_MS), nominal: iso(HOUR_MS) },
      ...{ before: iso(HOUR_MS - HOUR), after: iso(HOUR_MS + HOUR) },
      text: 'It ran 4 ms after it was due. It was answered 200 at 2026-06-17T12:00:00.024Z.',
    });
    expect(said(explained)).toEqual([`fired as ${message}`, 'delivered by node-2-ab']);
    expect(await explain(HOUR_MS + 900)).toMatchObject({ verdict: 'ran', message });
  });

  it('late, because its shard was moving', async () => {
    await schedule();
    await granted(HOUR_MS + 290);
    await occurrence(delivered(HOUR_MS + 312, { createdAtMs: HOUR_MS + 305 }));
    const explained = await explain();
    expect(explained).toMatchObject({ verdict: 'ran-late' });
    expect(explained.text).toMatch(/^It ran 312 ms after it was due, because shard 3 was moving\. /);
    expect(explained.evidence).toContainEqual({
      at: iso(HOUR_MS + 290),
      text: 'shard 3 was granted to node-3-cd with epoch 18',
    });
  });

  it('late, because nobody was there to fire it, and by the misfire policy all the same', async () => {
    await schedule({ misfire: 'once' });
    await granted(HOUR_MS - 3 * DAY);
    await occurrence(delivered(HOUR_MS + 10 * MINUTE, { createdAtMs: HOUR_MS + 10 * MINUTE }));
    const { verdict, text } = await explain();
    expect(verdict).toBe('ran-late');
    expect(text).toContain('It ran 10 min after it was due, because nobody fired it before 2026-06-17T12:10:00.000Z');
    expect(text).toContain('misfire policy "once"');
  });

  it('late, because it waited for the one before', async () => {
    await schedule({ overlap: 'queue' });
    const earlier = delivered(HOUR_MS - HOUR, { finishedAtMs: HOUR_MS + 4 * MINUTE });
    const before = await occurrence({ ...earlier, occurrenceAtMs: HOUR_MS - HOUR });
    await occurrence(delivered(HOUR_MS + 4 * MINUTE + 8));
    const explained = await explain();
    expect(explained.text).toContain('because it waited for the one before, which ended at 2026-06-17T12:04:00.000Z');
    expect(said(explained).join('; ')).toContain(before);
  });

  it('at the second attempt', async () => {
    await schedule();
    await occurrence(delivered(HOUR_MS + 30_000, { attempts: 2 }));
    const [{ id } = { id: '' }] = await records.database.text<{ id: string }>('select id from messages');
    const attempt = { attempt: 1, startedAtMs: HOUR_MS + 3, finishedAtMs: HOUR_MS + 9, status: 503 };
    await records.insertAttempts(id.replaceAll('-', ''), attempt);
    const explained = await explain();
    expect(explained.verdict).toBe('ran');
    expect(explained.text).toContain('It was answered 200 at attempt 2');
    expect(said(explained)).toContain('attempt 1 failed: answered 503');
  });
});

describe('an occurrence that was recorded and did not run', () => {
  it('because the one before was still running', async () => {
    await schedule({ overlap: 'skip' });
    const before = await occurrence({ occurrenceAtMs: HOUR_MS - HOUR, startedAtMs: HOUR_MS - HOUR + 3 });
    await occurrence({ state: 'skipped', reason: 'overlap', finishedAtMs: HOUR_MS + 2 });
    const explained = await explain();
    expect(explained.verdict).toBe('skipped');
    expect(explained.text).toBe('It did not run: the occurrence before it was still running (overlap policy "skip").');
    expect(said(explained)[0]).toContain(`(${before}) began; it has not ended`);
  });

  it('because nobody could fire it in time: also where one record stands for many', async () => {
    await schedule({ misfire: 'skip' });
    const firstMs = HOUR_MS - 20 * HOUR;
    await occurrence({
      ...{ occurrenceAtMs: firstMs, dueAtMs: firstMs, coversUntilMs: HOUR_MS - 2 * HOUR },
      ...{ state: 'skipped', reason: 'misfire', createdAtMs: HOUR_MS - HOUR },
    });
    const explained = await explain(HOUR_MS - 5 * HOUR);
    expect(explained).toMatchObject({ verdict: 'skipped', nominal: iso(HOUR_MS - 5 * HOUR) });
    expect(explained.text).toContain('nobody could fire it until 2026-06-17T11:00:00.000Z');
    expect(explained.text).toContain('misfire policy "skip"');
    expect(said(explained)[0]).toBe(`one record stands for all times up to ${iso(HOUR_MS - 2 * HOUR)}`);
  });

  it('because it failed, is being retried, waits, is due, or was canceled', async () => {
    await schedule({ overlap: 'queue' });
    const set = async (spec: string): Promise<Explained> => {
      await records.database.text(`update messages set ${spec}`);
      return explain();
    };
    await occurrence();
    expect(await explain()).toMatchObject({ verdict: 'due' });
    const again = timestamp(NOW_MS + MINUTE);
    expect(
      await set(
        `attempts = 2, last_status = 502, last_error = 'the receiver answered 502', next_attempt_at = '${again}'`,
      ),
    ).toMatchObject({
      verdict: 'retrying',
      text: `It was sent and has failed 2 times so far: the receiver answered 502. It is tried again at ${iso(NOW_MS + MINUTE)}, up to 4 times in all.`,
    });
    const failed = await set(`attempts = 4, state = 'failed', in_dlq = true, finished_at = '${again}'`);
    expect(failed).toMatchObject({ verdict: 'failed' });
    expect(failed.text).toContain('after 4 attempts');
    expect(failed.text).toContain('It is among the dead letters.');
    expect(await set(`attempts = 0, state = 'pending', in_dlq = false, held = true`)).toMatchObject({
      verdict: 'waiting',
    });
    const canceled = await set(`state = 'canceled', reason = 'canceled by the client', held = false`);
    expect(canceled).toMatchObject({ verdict: 'canceled' });
  });
});

describe('a moment without a record', () => {
  it('before the schedule was created, and after it was deleted', async () => {
    await schedule({ createdAtMs: HOUR_MS - 30 * MINUTE });
    expect(await explain(HOUR_MS - HOUR)).toMatchObject({
      verdict: 'not-created-yet',
      text: `It did not run: the schedule was created at ${iso(HOUR_MS - 30 * MINUTE)}.`,
    });
    await change(HOUR_MS - 10 * MINUTE, 'deleted');
    await records.database.text('delete from schedules');
    expect(await explain()).toMatchObject({
      verdict: 'deleted',
      text: `It did not run: the schedule was deleted at ${iso(HOUR_MS - 10 * MINUTE)}.`,
    });
  });

  it('in a pause', async () => {
    await schedule();
    await change(HOUR_MS - 10 * MINUTE, 'paused', '0 * * * *', 2);
    await change(HOUR_MS + 5 * MINUTE, 'edited', '0 * * * *', 3);
    await change(HOUR_MS + 10 * MINUTE, 'resumed', '0 * * * *', 4);
    const explained = await explain();
    expect(explained.verdict).toBe('paused');
    expect(explained.text).toContain(
      `the schedule was paused by the edit at ${iso(HOUR_MS - 10 * MINUTE)}, until it was resumed at ${iso(HOUR_MS + 10 * MINUTE)}`,
    );
    expect(said(explained)).toEqual(['paused (generation 2)', 'resumed (generation 4)']);
  });

  it('that the expression does not name: not then, though it would today', async () => {
    await schedule({ cron: '30 * * * *' });
    await records.database.text('delete from schedule_changes');
    await change(NOW_MS - 10 * DAY, 'created', '0 * * * *');
    await change(HOUR_MS - 5 * MINUTE, 'edited', '30 * * * *', 2);
    expect(await explain()).toMatchObject({
      verdict: 'not-a-time',
      nominal: null,
      text: `The expression "30 * * * *" does not name ${iso(HOUR_MS)}: the one before it is ${iso(HOUR_MS - 30 * MINUTE)}, the one after it ${iso(HOUR_MS + 30 * MINUTE)}.`,
    });
    const earlier = await explain(HOUR_MS - 90 * MINUTE);
    expect(earlier).toMatchObject({
      verdict: 'not-a-time',
      before: iso(HOUR_MS - 2 * HOUR),
      after: iso(HOUR_MS - HOUR),
    });
    expect(said(earlier)).toEqual(['the expression is "30 * * * *" since an edit']);
  });

  it('in the future, beyond the bounds, and that is due and was not fired', async () => {
    await schedule({ endAtMs: HOUR_MS + 2 * HOUR });
    expect(await explain(HOUR_MS + HOUR)).toMatchObject({
      verdict: 'will-run',
      text: `It will run at ${iso(HOUR_MS + HOUR)}, in 30 min.`,
    });
    expect(await explain(HOUR_MS + 3 * HOUR)).toMatchObject({ verdict: 'out-of-bounds' });
    await records.database.text('update schedules set next_fire_at = $1', [timestamp(HOUR_MS)]);
    await granted(HOUR_MS - DAY);
    const due = await explain();
    expect(due).toMatchObject({ verdict: 'due' });
    expect(due.text).toContain('due for 30 min and was not fired yet');
    await records.database.text(`update schedules set state = 'paused', next_fire_at = null`);
    expect(await explain(HOUR_MS + HOUR)).toMatchObject({ verdict: 'paused' });
  });

  it('older than the record is kept, or simply without one', async () => {
    await schedule({ createdAtMs: NOW_MS - 200 * DAY });
    expect((await explain(HOUR_MS - 100 * DAY)).text).toContain('records are kept for 90 d');
    expect(await explain()).toMatchObject({ verdict: 'unknown', message: null });
  });
});

describe('a question that cannot be answered', () => {
  it('says what is wrong with it', async () => {
    await schedule();
    const status = async (path: string): Promise<number> => (await records.get(path)).status;
    expect(await status('/v2/schedules/job/explain')).toBe(400);
    expect(await status('/v2/schedules/job/explain?at=yesterday')).toBe(400);
    expect(await status('/v2/schedules/job/explain?at=1&at=2')).toBe(400);
    expect(await status('/v2/schedules/job/explain?when=1')).toBe(400);
    expect(await status('/v2/schedules/nobody/explain?at=1')).toBe(404);
    const other = await records.get(`/v2/schedules/job/explain?at=${HOUR_MS}`, records.tenants[1]);
    expect(other.status).toBe(404);
  });
});
