// Schedules and calendars over HTTP: upsert, pause and resume, previews, manual runs.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestNode, type TestNode } from '../../kit/node.js';

let node: TestNode;
beforeAll(async () => {
  node = await startTestNode();
});
afterAll(() => node.stop());

type View = Record<string, unknown> & { scheduleId: string };

async function create(headers: Record<string, string>, body?: string | Buffer): Promise<Response> {
  return node.call('POST', `/v2/schedules/${node.sink.url}/s`, {
    headers: { 'Upstash-Cron': '0 0 1 1 *', ...headers },
    ...(body === undefined ? {} : { body }),
  });
}
const get = async (id: string): Promise<View> => (await (await node.call('GET', `/v2/schedules/${id}`)).json()) as View;
const errorOf = async (response: Response): Promise<string> => ((await response.json()) as { error: string }).error;

describe('a schedule', () => {
  it('keeps what an edit names, seen or not', async () => {
    const id = { 'Upstash-Schedule-Id': 'kept' };
    const callback = { 'Upstash-Callback': `${node.sink.url}/cb`, 'Upstash-Callback-Retries': '5' };
    const first = { ...id, ...callback, 'Upstash-Forward-A': '1', 'Upstash-Redact-Fields': 'body' };
    await create(first, 'a secret');
    const before = await get('kept');
    expect(before).toMatchObject({ redact: 'body' });
    const edit = { ...id, 'Upstash-Cron': '0 5 1 1 *', 'Carillon-Keep': 'body, headers, callback, redact' };
    expect((await create(edit, 'is not looked at')).status).toBe(200);
    expect(await get('kept')).toMatchObject({
      ...before,
      cron: '0 5 1 1 *',
      generation: 2,
      nextScheduleTime: expect.any(Number) as number,
    });
    const again = await create({ ...first, 'Upstash-Cron': '0 5 1 1 *' }, 'a secret');
    expect(again.status).toBe(200);
    // Equal to what is stored, so nothing was lost.
    expect((await get('kept')).generation).toBe(2);

    expect(await errorOf(await create({ ...edit, 'Carillon-Keep': 'boddy' }))).toContain('expected some of body');
    expect((await create({ ...edit, 'Upstash-Schedule-Id': 'unheard-of' })).status).toBe(404);
  });

  it('is created, shown with everything that was set, and replaced whole', async () => {
    const response = await create(
      {
        'Upstash-Schedule-Id': 'full',
        'Upstash-Forward-Test-Header': 'v',
        'Content-Type': 'text/plain',
        'Upstash-Delay': '90s',
        'Upstash-Label': 'a,b',
        'Carillon-Time-Zone': 'Europe/Kyiv',
        'Carillon-Misfire': 'all; window=2h',
        'Carillon-Overlap': 'skip',
        'Carillon-Window': '10m',
        'Carillon-End': '2095-01-01T00:00:00Z',
        'Carillon-Idempotency-Key': 'report:{yyyy-MM-dd}',
        'Upstash-Callback': `${node.sink.url}/cb`,
      },
      'hello',
    );
    expect(await response.json()).toEqual({ scheduleId: 'full' });
    const first = await get('full');
    expect(first).toMatchObject({
      cron: '0 0 1 1 *',
      destination: `${node.sink.url}/s`,
      header: { 'Test-Header': ['v'], 'Content-Type': ['text/plain'] },
      body: 'hello',
      delay: 90,
      labels: ['a', 'b'],
      label: 'a',
      timeZone: 'Europe/Kyiv',
      misfire: 'all',
      misfireWindow: 7_200_000,
      overlap: 'skip',
      window: 600_000,
      end: Date.UTC(2095, 0, 1),
      idempotencyKey: 'report:{yyyy-MM-dd}',
      callback: `${node.sink.url}/cb`,
      isPaused: false,
      state: 'active',
      generation: 1,
      callerIP: '127.0.0.1',
    });
    expect(new Date(Number(first.nextScheduleTime)).toISOString()).toMatch(/-12-31T22:00:00.000Z$/);

    await create({ 'Upstash-Schedule-Id': 'full' });
    const second = await get('full');
    expect(second).toMatchObject({ header: {}, generation: 2, createdAt: first.createdAt });
    for (const gone of ['body', 'delay', 'labels', 'timeZone', 'window', 'end', 'idempotencyKey', 'callback']) {
      expect(second).not.toHaveProperty(gone);
    }
    await create({ 'Upstash-Schedule-Id': 'full' });
    expect(await get('full')).toMatchObject({ generation: 2 });
  });

  it('can be created by a publish that carries Upstash-Cron', async () => {
    const response = await node.call('POST', `/v2/publish/${node.sink.url}/by-publish`, {
      headers: { 'Upstash-Cron': '@hourly', 'Upstash-Schedule-Id': 'by-publish' },
    });
    expect(await response.json()).toEqual({ scheduleId: 'by-publish' });
    expect(await get('by-publish')).toMatchObject({ cron: '@hourly', destination: `${node.sink.url}/by-publish` });
  });

  it('is one for a deduplication id, and free again after its deletion', async () => {
    const ids = await Promise.all(
      Array.from(
        { length: 10 },
        async () => ((await (await create({ 'Upstash-Deduplication-Id': 'boot' })).json()) as View).scheduleId,
      ),
    );
    expect(new Set(ids).size).toBe(1);
    const [id = ''] = ids;
    expect(await get(id)).toMatchObject({ generation: 1 });
    expect((await node.call('DELETE', `/v2/schedules/${id}`)).status).toBe(200);
    expect(((await (await create({ 'Upstash-Deduplication-Id': 'boot' })).json()) as View).scheduleId).toBe(id);
  });

  it.each(['PATCH', 'POST'])(
    'is paused and resumed by %s, as often as anybody likes, on either spelling of the path',
    async (method) => {
      await create({ 'Upstash-Schedule-Id': 'switch' });
      const steps: readonly [string, boolean][] = [
        ['/v2/schedules/switch/pause', true],
        ['/v2/Schedules/switch/pause', true],
        ['/v2/schedules/switch/resume', false],
        ['/v2/Schedules/switch/resume', false],
      ];
      for (const [path, isPaused] of steps) {
        const response = await node.call(method, path);
        expect([response.status, await response.json()]).toEqual([200, { scheduleId: 'switch', isPaused }]);
        expect(await get('switch')).toMatchObject({ isPaused });
      }
      expect((await get('switch')).nextScheduleTime).toBeGreaterThan(Date.now());
    },
  );

  it('that nobody made is 404 for everything but its creation', async () => {
    for (const [method, path] of [
      ['GET', '/v2/schedules/none'],
      ['DELETE', '/v2/schedules/none'],
      ['PATCH', '/v2/schedules/none/pause'],
      ['POST', '/v2/schedules/none/resume'],
      ['POST', '/v2/schedules/none/trigger'],
      ['GET', '/v2/schedules/none/next'],
      ['GET', '/v2/schedules/%00'],
    ] as const) {
      const response = await node.call(method, path);
      expect([method, path, response.status]).toEqual([method, path, 404]);
      expect(await errorOf(response)).toMatch(/schedule/);
    }
  });

  it.each([
    [{ 'Upstash-Cron': '0 0 30 2 *' }, /never fire/],
    [{ 'Upstash-Cron': '0 25 * * *' }, /hour/],
    [{ 'Carillon-End': '2001-01-01T00:00:00Z' }, /no occurrence left/],
    [{ 'Upstash-Not-Before': '1' }, /Not-Before/],
  ])('with %j is refused', async (headers, text) => {
    const response = await create(headers);
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatch(text);
  });

  it('runs by hand at once, off the grid, also while paused', async () => {
    await create({ 'Upstash-Schedule-Id': 'by-hand' }, 'manual');
    const before = (await get('by-hand')).nextScheduleTime;
    await node.call('PATCH', '/v2/schedules/by-hand/pause');
    const response = await node.call('POST', '/v2/schedules/by-hand/trigger');
    const { messageId } = (await response.json()) as { messageId: string };
    const [call] = await node.sink.waitFor(1, (candidate) => candidate.messageId === messageId);
    expect(call?.body.toString()).toBe('manual');
    expect(call?.scheduleId).toBe('by-hand');
    await node.call('PATCH', '/v2/schedules/by-hand/resume');
    expect((await get('by-hand')).nextScheduleTime).toBe(before);
  });

  it('says how its latest occurrences stand', async () => {
    await create({ 'Upstash-Schedule-Id': 'ticking', 'Upstash-Cron': '* * * * * *' });
    const [call] = await node.sink.waitFor(1, (candidate) => candidate.scheduleId === 'ticking');
    await expect
      .poll(async () => (await get('ticking')).lastScheduleStates, { timeout: 5_000 })
      .toMatchObject({ [call?.messageId ?? '']: 'SUCCESS' });
    const listed = (await (await node.call('GET', '/v2/schedules')).json()) as View[];
    expect(listed.find((view) => view.scheduleId === 'ticking')).toHaveProperty('lastScheduleStates');
    await node.call('DELETE', '/v2/schedules/ticking');
  });

  it('is listed, however many there are', async () => {
    const before = ((await (await node.call('GET', '/v2/schedules')).json()) as View[]).length;
    await Promise.all(Array.from({ length: 205 }, (_, n) => create({ 'Upstash-Schedule-Id': `many-${n}` })));
    const listed = (await (await node.call('GET', '/v2/schedules')).json()) as View[];
    expect(listed).toHaveLength(before + 205);
    expect(new Set(listed.map((view) => view.scheduleId)).size).toBe(before + 205);
  });
});

describe('calendars', () => {
  const preview = (body: unknown): Promise<Response> =>
    node.call('POST', '/v2/cron/preview', {
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    });

  it('are previewed with both clocks and what a clock change did', async () => {
    const response = await preview({
      cron: '30 2 * * *',
      timeZone: 'America/New_York',
      from: '2026-03-07T12:00:00Z',
      count: 2,
    });
    expect(await response.json()).toEqual({
      times: [
        { utc: '2026-03-08T07:00:00.000Z', local: '2026-03-08T03:00:00-04:00', dst: 'gap' },
        { utc: '2026-03-09T06:30:00.000Z', local: '2026-03-09T02:30:00-04:00', dst: null },
      ],
      dayRule: null,
    });
    const overlap = await preview({
      cron: 'CRON_TZ=America/New_York 30 1 * * *',
      from: Date.UTC(2026, 9, 31, 12),
      count: 1,
    });
    expect(await overlap.json()).toMatchObject({ times: [{ utc: '2026-11-01T05:30:00.000Z', dst: 'overlap' }] });
  });

  it('say that two day fields mean either, and give ten times from now by default', async () => {
    const answer = (await (await preview({ cron: '0 0 13 * 5' })).json()) as {
      times: { utc: string }[];
      dayRule: string;
    };
    expect(answer.dayRule).toBe('or');
    expect(answer.times).toHaveLength(10);
    expect(Date.parse(answer.times[0]?.utc ?? '')).toBeGreaterThan(Date.now());
  });

  it.each([
    [{ cron: '99 * * * *' }, /minute/],
    [{ cron: '* * *' }, /field/],
    [{ cron: '* * * * *', timeZone: 'Nowhere/At_All' }, /Nowhere/],
    [{ cron: '* * * * *', count: 0 }, /count/],
    [{ cron: '* * * * *', count: 1_001 }, /count.*from 1 to/],
    [{ cron: '* * * * *', from: 'soon' }, /from.*expected a time/],
    [{ cron: 7 }, /cron/],
    [[], /body/],
    ['', /./],
  ])('refuse %j with a reason', async (body, text) => {
    const response = await preview(body);
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatch(text);
  });

  it('of a saved schedule keep to its bounds', async () => {
    await create({
      'Upstash-Schedule-Id': 'bounded',
      'Upstash-Cron': 'CRON_TZ=America/New_York 0 12 * * *',
      'Carillon-Start': '2090-06-01T00:00:00Z',
      'Carillon-End': '2090-06-03T00:00:00Z',
    });
    const response = await node.call('GET', '/v2/schedules/bounded/next?count=5');
    expect(await response.json()).toEqual({
      times: [
        { utc: '2090-06-01T16:00:00.000Z', local: '2090-06-01T12:00:00-04:00', dst: null },
        { utc: '2090-06-02T16:00:00.000Z', local: '2090-06-02T12:00:00-04:00', dst: null },
      ],
      dayRule: null,
    });
    const later = await node.call('GET', '/v2/schedules/bounded/next?from=2090-06-02T00:00:00Z&count=1');
    expect(await later.json()).toMatchObject({ times: [{ utc: '2090-06-02T16:00:00.000Z' }] });
    for (const query of ['count=x', 'count=', 'cuont=1', 'from=x', 'count=1&count=2']) {
      expect((await node.call('GET', `/v2/schedules/bounded/next?${query}`)).status).toBe(400);
    }
  });
});
