// What went wrong with schedules in other schedulers, by the numbers of the reports: pausing, triggering, editing, saving again.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRedis, openRedis } from '../../../src/redis/connect.js';
import { shardKeys, scheduleEntry } from '../../../src/redis/keys.js';
import { shardOfSchedule } from '../../../src/domain/shard.js';
import { startTestNode, type TestNode } from '../../kit/node.js';
import {
  cronAt,
  expectInvariants,
  newTenant,
  rowOf,
  rowsOf,
  schedule,
  scheduleOf,
  startMetronome,
  until,
  untilRows,
  untilState,
  type Metronome,
} from '../../kit/work.js';
import { processTime } from '../../../src/time/process-time.js';

const EACH_SECOND = '* * * * * *';
const NEW_YEAR = '0 0 1 1 *';

let node: TestNode;
let metronome: Metronome;
beforeAll(async () => {
  node = await startTestNode();
  metronome = await startMetronome(node);
  node.sink.answer(async (call) => {
    if (call.scheduleId === 'drifter') await metronome.ticks(2);
    return {};
  });
});
afterAll(async () => {
  await expectInvariants(node);
  await node.stop();
});

async function change(id: string, what: 'pause' | 'resume' | 'trigger', token?: string): Promise<Response> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const method = what === 'trigger' ? 'POST' : 'PATCH';
  const response = await node.call(method, `/v2/schedules/${id}/${what}`, { headers });
  expect(response.status).toBe(200);
  return response;
}

async function trigger(id: string): Promise<string> {
  const { messageId } = (await (await change(id, 'trigger')).json()) as { messageId: string };
  return messageId.slice('msg_'.length);
}

const occurrences = (rows: Awaited<ReturnType<typeof rowsOf>>): number[] =>
  rows.flatMap(({ occurrence_at }) => (occurrence_at === null ? [] : [occurrence_at]));

describe.concurrent('resuming', () => {
  it('fires no slot that lay in the pause (report 11)', async () => {
    await schedule(node, 'paused', EACH_SECOND);
    await untilRows(node, 'paused', 1);
    await change('paused', 'pause');
    const pausedAtMs = Date.now();
    expect(await scheduleOf(node, 'paused')).toMatchObject({ state: 'paused', next_fire_at: null });
    await metronome.ticks(3);
    const resumedAtMs = Date.now();
    await change('paused', 'resume');
    await untilRows(node, 'paused', 1, ({ occurrence_at }) => (occurrence_at ?? 0) > resumedAtMs);
    const inPause = occurrences(await rowsOf(node, 'paused')).filter(
      (atMs) => atMs > pausedAtMs && atMs <= resumedAtMs - 20,
    );
    expect(inPause).toEqual([]);
    await node.call('DELETE', '/v2/schedules/paused');
  });

  it('and pausing twice is resuming and pausing once (report 16)', async () => {
    await schedule(node, 'twice', NEW_YEAR);
    for (const what of ['pause', 'pause', 'resume', 'resume'] as const) await change('twice', what);
    expect(await scheduleOf(node, 'twice')).toMatchObject({ state: 'active', generation: 3 });
  });
});

describe.concurrent('a run by hand', () => {
  it("takes no slot's place (report 12)", async () => {
    await schedule(node, 'by-hand', EACH_SECOND);
    await untilRows(node, 'by-hand', 1);
    const manual = [await trigger('by-hand'), await trigger('by-hand')];
    await untilRows(node, 'by-hand', 4, ({ kind, state }) => kind === 'occurrence' && state === 'delivered');
    const atMs = occurrences(await rowsOf(node, 'by-hand'));
    expect(atMs.map((time, index) => time - atMs[0]! - index * 1_000)).toEqual(atMs.map(() => 0));
    for (const id of manual) {
      expect(await untilState(node, id, 'delivered')).toMatchObject({ kind: 'manual', occurrence_at: null });
    }
    await node.call('DELETE', '/v2/schedules/by-hand');
  });

  it('moves neither a calendar nor the grid of an interval (report 7)', async () => {
    await schedule(node, 'interval', '@every 90m');
    await schedule(node, 'calendar', '0 4 * * *');
    const before = [await scheduleOf(node, 'interval'), await scheduleOf(node, 'calendar')];
    await untilState(node, await trigger('interval'), 'delivered');
    await untilState(node, await trigger('calendar'), 'delivered');
    expect([await scheduleOf(node, 'interval'), await scheduleOf(node, 'calendar')]).toEqual(before);
  });

  it('runs while the schedule is paused, and leaves it paused', async () => {
    await schedule(node, 'asleep', NEW_YEAR);
    await change('asleep', 'pause');
    await untilState(node, await trigger('asleep'), 'delivered');
    expect(await scheduleOf(node, 'asleep')).toMatchObject({ state: 'paused' });
  });
});

describe.concurrent('an interval', () => {
  it('keeps to its grid however long its runs take (report 7)', async () => {
    await schedule(node, 'drifter', '@every 1s');
    const rows = await untilRows(node, 'drifter', 4, ({ state }) => state === 'delivered');
    const atMs = occurrences(await rowsOf(node, 'drifter')).slice(0, rows.length);
    expect(atMs.map((time, index) => time - atMs[0]! - index * 1_000)).toEqual(atMs.map(() => 0));
    await node.call('DELETE', '/v2/schedules/drifter');
  });
});

describe.concurrent('an edit', () => {
  it('leaves nothing of the old time (report 15)', async () => {
    const oldAtMs = Date.now() + 3_000;
    await schedule(node, 'moved', cronAt(oldAtMs));
    await schedule(node, 'moved', NEW_YEAR);
    await metronome.ticks(5);
    expect(Date.now()).toBeGreaterThan(oldAtMs);
    expect(await rowsOf(node, 'moved')).toEqual([]);
    expect(await scheduleOf(node, 'moved')).toMatchObject({ generation: 2 });
  });

  it('to an earlier time fires then, wherever the schedule was (report 15)', async () => {
    await schedule(node, 'sooner', NEW_YEAR);
    await schedule(node, 'sooner', EACH_SECOND);
    await untilRows(node, 'sooner', 1, ({ state }) => state === 'delivered');
    await node.call('DELETE', '/v2/schedules/sooner');
  });

  it('while the schedule fires loses no occurrence of the new calendar and repeats none of the old (report 15)', async () => {
    const ids = Array.from({ length: 12 }, (_, index) => `busy-${index}`);
    await Promise.all(ids.map((id) => schedule(node, id, EACH_SECOND)));
    for (let round = 0; round < 3; round++) {
      // To a far calendar and back, at the moment of firing.
      await metronome.ticks(1);
      await Promise.all(ids.map((id) => schedule(node, id, NEW_YEAR)));
      await Promise.all(ids.map((id) => schedule(node, id, EACH_SECOND)));
    }
    const editedAtMs = Date.now();
    for (const id of ids) {
      // All later slots come, one after the other: none waits for the far calendar.
      const isLater = ({ occurrence_at }: { occurrence_at: number | null }): boolean => occurrence_at! > editedAtMs;
      const atMs = occurrences(await untilRows(node, id, 3, isLater));
      expect(atMs[0]! - editedAtMs).toBeLessThanOrEqual(1_000);
      expect(atMs.map((time, index) => time - atMs[0]! - index * 1_000)).toEqual(atMs.map(() => 0));
    }
    await Promise.all(ids.map((id) => node.call('DELETE', `/v2/schedules/${id}`)));
  });

  it('of the body alone keeps the next time and changes what is sent (report 15)', async () => {
    const dueAtMs = Date.now() + 3_000;
    await schedule(node, 'reworded', cronAt(dueAtMs), { body: 'old' });
    const before = await scheduleOf(node, 'reworded');
    await schedule(node, 'reworded', cronAt(dueAtMs), { body: 'new' });
    expect((await scheduleOf(node, 'reworded'))?.next_fire_at).toBe(before?.next_fire_at);
    const [call] = await node.sink.waitFor(1, ({ scheduleId }) => scheduleId === 'reworded');
    expect(call?.body.toString()).toBe('new');
  });

  it('that deletes stops at once, and what was produced stays', async () => {
    await schedule(node, 'deleted', EACH_SECOND);
    await untilRows(node, 'deleted', 1, ({ state }) => state === 'delivered');
    expect((await node.call('DELETE', '/v2/schedules/deleted')).status).toBe(200);
    const deletedAtMs = Date.now();
    await metronome.ticks(2);
    const atMs = occurrences(await rowsOf(node, 'deleted'));
    expect(atMs.length).toBeGreaterThan(0);
    expect(atMs.filter((time) => time > deletedAtMs)).toEqual([]);
    expect((await node.call('DELETE', '/v2/schedules/deleted')).status).toBe(404);
  });
});

describe.concurrent('saving again', () => {
  const definition = { headers: { 'Upstash-Label': 'nightly', 'X-Plain': 'a' }, body: 'same' };

  it('50 times at once makes one schedule with one next occurrence (report 16)', async () => {
    const dueAtMs = Date.now() + 4_000;
    await Promise.all(Array.from({ length: 50 }, () => schedule(node, 'upsert', cronAt(dueAtMs), definition)));
    expect(await scheduleOf(node, 'upsert')).toMatchObject({ generation: 1 });
    expect(await node.database.text(`select change from schedule_changes where schedule_id = 'upsert'`)).toEqual([
      { change: 'created' },
    ]);
    const rows = await untilRows(node, 'upsert', 1, ({ state }) => state === 'delivered');
    expect(rows).toHaveLength(1);
    expect(node.sink.calls.filter(({ scheduleId }) => scheduleId === 'upsert')).toHaveLength(1);
  });

  it('what is equal changes nothing (report 16)', async () => {
    await schedule(node, 'equal', '@every 40m', definition);
    const before = await node.database.text(`select * from schedules where id = 'equal'`);
    await schedule(node, 'equal', '@every 40m', definition);
    expect(await node.database.text(`select * from schedules where id = 'equal'`)).toEqual(before);
  });

  it('50 times at once with 50 definitions ends with one of them and one next occurrence (report 16)', async () => {
    const dueAtMs = Date.now() + 4_000;
    const bodies = Array.from({ length: 50 }, (_, index) => `version ${index}`);
    await Promise.all(bodies.map((body) => schedule(node, 'contested', cronAt(dueAtMs), { body })));
    const [stored] = await node.database.text<{ body: Buffer; generation: number }>(
      `select body, generation from schedules where id = 'contested'`,
    );
    expect(stored?.generation).toBe(50);
    const [call] = await node.sink.waitFor(1, ({ scheduleId }) => scheduleId === 'contested');
    expect(call?.body).toEqual(stored?.body);
    expect(await rowsOf(node, 'contested')).toHaveLength(1);
  });
});

describe.concurrent('identity', () => {
  it('is the schedule: two with the same calendar and destination run each for itself (report 17)', async () => {
    const dueAtMs = Date.now() + 3_000;
    for (const id of ['twin-a', 'twin-b']) {
      await schedule(node, id, cronAt(dueAtMs));
    }
    for (const id of ['twin-a', 'twin-b']) {
      const rows = await untilRows(node, id, 1, ({ state }) => state === 'delivered');
      expect(rows).toHaveLength(1);
    }
  });

  it('ends at the tenant: the same schedule id and the same key are two (report 18)', async () => {
    const token = await newTenant(node, 'staging');
    const dueAtMs = Date.now() + 3_000;
    const key = { 'Carillon-Idempotency-Key': 'bill-{yyyy-MM-dd}' };
    await schedule(node, 'bill', cronAt(dueAtMs), { headers: key, body: 'production' });
    const before = await scheduleOf(node, 'bill');
    await schedule(node, 'bill', cronAt(dueAtMs), { headers: key, body: 'staging', token });
    expect(await node.database.text(`select * from schedules where id = 'bill' and tenant_id = 1`)).toMatchObject([
      { ...before },
    ]);
    const rows = await untilRows(node, 'bill', 2, ({ state }) => state === 'delivered');
    expect(new Set(rows.map(({ tenant_id }) => tenant_id)).size).toBe(2);
    expect(new Set(rows.map(({ idempotency_key }) => idempotency_key)).size).toBe(1);

    await change('bill', 'pause', token);
    expect(await node.database.text(`select state from schedules where id = 'bill' order by tenant_id`)).toEqual([
      { state: 'active' },
      { state: 'paused' },
    ]);
    const theirs = await node.call('GET', `/v2/messages/msg_${rows[0]!.id.replaceAll('-', '')}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(theirs.status).toBe(404);
  });

  it('of work is its key: what two schedules name alike is done once, and the second says by whom (report 18)', async () => {
    const dueAtMs = Date.now() + 3_000;
    const headers = { 'Carillon-Idempotency-Key': 'invoice:{yyyy-MM-dd}:acme' };
    await schedule(node, 'invoice-a', cronAt(dueAtMs), { headers });
    await schedule(node, 'invoice-b', cronAt(dueAtMs), { headers });
    const [a] = await untilRows(node, 'invoice-a', 1, ({ state }) => state !== 'pending');
    const [b] = await untilRows(node, 'invoice-b', 1, ({ state }) => state !== 'pending');
    const [done, skipped] = a!.state === 'delivered' ? [a!, b!] : [b!, a!];
    expect(done.state).toBe('delivered');
    expect(skipped).toMatchObject({ state: 'skipped', attempts: 0 });
    expect(skipped.reason).toContain(`msg_${done.id.replaceAll('-', '')}`);
  });
});

describe.concurrent('an active schedule', () => {
  it('has its next occurrence in PostgreSQL and in Redis after whatever is done to it (report 13)', async () => {
    const ids = Array.from({ length: 10 }, (_, index) => `tossed-${index}`);
    const calendars = [EACH_SECOND, NEW_YEAR, '@every 2s', '*/3 * * * * *', '0 * * * *'];
    // Fixed, so that a failure can be repeated.
    let seed = 20_260_308;
    const pick = (many: number): number => (seed = (seed * 48_271) % 2_147_483_647) % many;
    await Promise.all(
      ids.map(async (id) => {
        await schedule(node, id, calendars[pick(5)]!);
        for (let step = 0; step < 12; step++) {
          const what = pick(5);
          if (what === 0) await change(id, 'pause');
          else if (what === 1) await change(id, 'resume');
          else if (what === 2) await change(id, 'trigger');
          else await schedule(node, id, calendars[pick(5)]!);
        }
        await change(id, 'resume');
      }),
    );
    await metronome.ticks(2);
    const redis = createRedis({
      url: node.config.CARILLON_REDIS_URL,
      timeoutMs: 5_000,
      onTrouble: () => undefined,
    });
    await openRedis(redis, 5_000, processTime);
    for (const id of ids) {
      const state = await scheduleOf(node, id);
      expect(state, id).toMatchObject({ state: 'active' });
      const keys = shardKeys(node.config.CARILLON_REDIS_PREFIX, shardOfSchedule(1, id, node.config.CARILLON_SHARDS));
      const isFar = state!.next_fire_at! > Date.now() + node.config.CARILLON_HORIZON_MS * 2;
      if (isFar) continue;
      const place = await redis.zscore(keys.due, scheduleEntry(1, id));
      const flight = await redis.zscore(keys.inflight, scheduleEntry(1, id));
      const latest = await scheduleOf(node, id);
      if (flight === null) expect(Number(place), id).toBeLessThanOrEqual(latest!.next_fire_at!);
    }
    await redis.quit();
    await Promise.all(ids.map((id) => node.call('DELETE', `/v2/schedules/${id}`)));
  });

  it('whose last occurrence is over is ended and says so (report 13)', async () => {
    const endMs = Math.ceil(Date.now() / 1_000) * 1_000 + 2_000;
    await schedule(node, 'brief', EACH_SECOND, { headers: { 'Carillon-End': new Date(endMs).toISOString() } });
    await until(async () => expect(await scheduleOf(node, 'brief')).toMatchObject({ state: 'ended' }));
    expect(await scheduleOf(node, 'brief')).toMatchObject({ next_fire_at: null, last_fire_at: endMs });
    await untilRows(node, 'brief', 1, (row) => row.state === 'delivered' && row.occurrence_at === endMs);
    expect(Math.max(...occurrences(await rowsOf(node, 'brief')))).toBe(endMs);
    const log = `select change from schedule_changes where schedule_id = 'brief' order by at, generation`;
    expect(await node.database.text(log)).toContainEqual({ change: 'ended' });
  });

  it('does not fire before its start', async () => {
    const startMs = Math.ceil(Date.now() / 1_000) * 1_000 + 3_000;
    await schedule(node, 'future', EACH_SECOND, { headers: { 'Carillon-Start': new Date(startMs).toISOString() } });
    const rows = await untilRows(node, 'future', 1);
    expect(occurrences(rows)[0]).toBe(startMs);
    await node.call('DELETE', '/v2/schedules/future');
  });
});

describe.concurrent('what can never fire', () => {
  it('is refused at creation, quickly and with a reason (reports 3 and 4)', async () => {
    for (const cron of ['0 0 30 2 *', '0 0 31 4,6 *', '0 0 0 31 2 *']) {
      const askedAtMs = performance.now();
      const response = await node.call('POST', `/v2/schedules/${node.sink.url}/never`, {
        headers: { 'Upstash-Cron': cron, 'Upstash-Schedule-Id': 'never' },
      });
      expect(response.status).toBe(400);
      expect(((await response.json()) as { error: string }).error).toMatch(/never/i);
      expect(performance.now() - askedAtMs).toBeLessThan(3_000);
    }
    expect(await scheduleOf(node, 'never')).toBeUndefined();
    expect(await rowOf(node, '0'.repeat(32))).toBeUndefined();
  });

  it('where DST begins at midnight is a day, not an endless search (report 3)', async () => {
    const response = await node.call('POST', '/v2/cron/preview', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        cron: '0 0 * * *',
        timeZone: 'America/Santiago',
        from: '2026-09-05T12:00:00Z',
        count: 1,
      }),
    });
    expect(await response.json()).toMatchObject({ times: [{ utc: '2026-09-06T04:00:00.000Z', dst: 'gap' }] });
  });

  it('day of month and day of week both given mean either, and the preview says so (report 6)', async () => {
    const response = await node.call('POST', '/v2/cron/preview', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ cron: '0 0 13 * 5', from: '2026-02-01T00:00:00Z', count: 3 }),
    });
    const { times, dayRule } = (await response.json()) as { times: { utc: string }[]; dayRule: string };
    expect(dayRule).toBe('or');
    expect(times.map(({ utc }) => utc.slice(0, 10))).toEqual(['2026-02-06', '2026-02-13', '2026-02-20']);
  });
});
