// Many schedules in one call: one answer for each, harmless to repeat, and the same as one by one.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestNode, type TestNode } from '../../kit/node.js';

let node: TestNode;
beforeAll(async () => {
  node = await startTestNode({ CARILLON_SCHEDULE_BATCH_MAX_ITEMS: 2_000 });
});
afterAll(() => node.stop());

type Item = Record<string, unknown>;
type Answer = Record<string, unknown>;

async function batch(items: unknown): Promise<{ status: number; answers: Answer[] }> {
  const response = await node.call('POST', '/v2/schedules/batch', { body: JSON.stringify(items) });
  return { status: response.status, answers: (await response.json()) as Answer[] };
}

function anItem(id: string, headers: Record<string, unknown> = {}, more: Item = {}): Item {
  return {
    destination: `${node.sink.url}/s`,
    headers: { 'Upstash-Cron': '0 0 1 1 *', 'Upstash-Schedule-Id': id, ...headers },
    ...more,
  };
}

const view = async (id: string): Promise<Item> =>
  (await (await node.call('GET', `/v2/schedules/${id}`)).json()) as Item;

/** What a schedule is, without what differs from one to the next. */
async function definitionOf(id: string): Promise<Item> {
  const { scheduleId, createdAt, ...rest } = await view(id);
  expect(scheduleId).toBe(id);
  expect(createdAt).toBeTypeOf('number');
  return rest;
}

describe('a batch of schedules', () => {
  it('makes what single requests make', async () => {
    const headers = {
      'Upstash-Cron': 'CRON_TZ=Europe/Kyiv 0 4 * * *',
      'Upstash-Label': 'a,b "c" {d}',
      'Upstash-Forward-X-Test': 'v',
      'Content-Type': 'text/plain',
      'Upstash-Delay': '90s',
      'Upstash-Retry-Delay': '1000 * retried',
      'Carillon-Misfire': 'all; window=2h',
      'Carillon-Overlap': 'skip',
      'Carillon-Window': '10m',
      'Carillon-End': '2095-01-01T00:00:00Z',
      'Carillon-Idempotency-Key': 'report:{yyyy-MM-dd}',
      'Upstash-Callback': `${node.sink.url}/cb`,
    };
    await node.call('POST', `/v2/schedules/${node.sink.url}/s`, {
      headers: { ...headers, 'Upstash-Schedule-Id': 'one' },
      body: 'hello',
    });
    const { answers } = await batch([anItem('many', headers, { body: 'hello' })]);
    expect(answers).toEqual([{ scheduleId: 'many', result: 'created' }]);
    expect(await definitionOf('many')).toEqual(await definitionOf('one'));
  });

  it('answers each item, and a faulty one harms no other', async () => {
    const { status, answers } = await batch([
      anItem('good-1'),
      anItem('bad-cron', { 'Upstash-Cron': '0 25 * * *' }),
      anItem('never', { 'Carillon-End': '2020-01-01T00:00:00Z' }),
      { ...anItem('typo'), paussed: true },
      anItem('no such id!'),
      'nothing',
      { ...anItem('queued'), queue: 'q' },
      anItem('both', {}, { body: 'a', bodyBase64: 'YQ==' }),
      anItem('good-2', { 'Upstash-Cron': '@every 1h' }, { bodyBase64: '/wA=' }),
    ]);
    expect(status).toBe(200);
    expect(answers).toEqual([
      { scheduleId: 'good-1', result: 'created' },
      { status: 400, error: expect.stringContaining('cron field "hour"') as string },
      { status: 400, error: expect.stringContaining('no occurrence left') as string },
      { status: 400, error: expect.stringContaining('did you mean paused?') as string },
      { status: 400, error: expect.stringContaining('Upstash-Schedule-Id') as string },
      { status: 400, error: expect.stringContaining('the item') as string },
      { status: 501, error: expect.stringContaining('queue') as string },
      { status: 400, error: expect.stringContaining('body and bodyBase64') as string },
      { scheduleId: 'good-2', result: 'created' },
    ]);
    expect(await view('good-2')).toMatchObject({ bodyBase64: '/wA=', state: 'active' });
  });

  it('may be repeated, and edits what differs', async () => {
    const items = [anItem('r1', {}, { body: 'x' }), anItem('r2', { 'Upstash-Label': 'l' }), anItem('r3')];
    expect((await batch(items)).answers.map(({ result }) => result)).toEqual(['created', 'created', 'created']);
    const changed = [items[0], anItem('r2', { 'Upstash-Label': 'm' }), items[2], anItem('r4')];
    expect((await batch(changed)).answers.map(({ result }) => result)).toEqual([
      'unchanged',
      'edited',
      'unchanged',
      'created',
    ]);
    expect(await view('r2')).toMatchObject({ generation: 2, labels: ['m'] });
    const changes = await node.database.text<{ change: string }>(
      "select change from schedule_changes where schedule_id = 'r2' order by generation",
    );
    expect(changes.map(({ change }) => change)).toEqual(['created', 'edited']);
  });

  it('takes an id that comes twice in its order', async () => {
    const { answers } = await batch([anItem('twice'), anItem('other'), anItem('twice', { 'Upstash-Cron': '@daily' })]);
    expect(answers.map(({ result }) => result)).toEqual(['created', 'created', 'edited']);
    expect(await view('twice')).toMatchObject({ cron: '@daily', generation: 2 });
  });

  it('saves what is to be paused as paused, and leaves what is paused so', async () => {
    const paused = anItem('p1', {}, { paused: true });
    expect((await batch([paused, anItem('p2')])).answers).toHaveLength(2);
    expect(await view('p1')).toMatchObject({ isPaused: true });
    expect((await batch([paused, anItem('p2', {}, { paused: true })])).answers.map(({ result }) => result)).toEqual([
      'unchanged',
      'edited',
    ]);
    expect(await view('p2')).toMatchObject({ isPaused: true, generation: 2 });
    await batch([anItem('p1', { 'Upstash-Cron': '@hourly' })]);
    expect(await view('p1')).toMatchObject({ isPaused: true, cron: '@hourly' });
    expect(await view('p1')).not.toHaveProperty('nextScheduleTime');
  });

  it('fires what it made', async () => {
    await batch(Array.from({ length: 30 }, (_, n) => anItem(`f${n}`, { 'Upstash-Cron': '@every 1s' })));
    const isFired = (n: number): boolean => node.sink.calls.some(({ scheduleId }) => scheduleId === `f${n}`);
    for (let n = 0; n < 30; n++) await expect.poll(() => isFired(n), { timeout: 8_000 }).toBe(true);
    const edits = Array.from({ length: 30 }, (_, n) => anItem(`f${n}`));
    expect((await batch(edits)).answers.every(({ result }) => result === 'edited')).toBe(true);
  });

  it('saves thousands at once, and refuses more than the setting allows', async () => {
    const items = Array.from({ length: 2_000 }, (_, n) => anItem(`n${n}`));
    const { answers } = await batch(items);
    expect(answers.filter(({ result }) => result === 'created')).toHaveLength(2_000);
    const refused = await batch([...items, anItem('one-more')]);
    expect(refused).toMatchObject({
      status: 400,
      answers: { error: expect.stringContaining('CARILLON_SCHEDULE_BATCH_MAX_ITEMS') as string },
    });
  });

  it.each([['{}'], [''], ['[1'], ['null']])('that is none is refused: %s', async (body) => {
    const response = await node.call('POST', '/v2/schedules/batch', { body });
    expect(response.status).toBe(400);
  });
});

describe('an unknown name', () => {
  it.each([
    ['/v2/batch', [{ destination: 'https://a.test', header: {} }], 'did you mean headers?'],
    ['/v2/schedules/batch', [{ destinaton: 'https://a.test' }], 'did you mean destination?'],
  ])('in an item of %s is refused with the nearest one', async (path, items, text) => {
    const answers = (await (await node.call('POST', path, { body: JSON.stringify(items) })).json()) as Answer[];
    expect(answers).toEqual([{ status: 400, error: expect.stringContaining(text) as string }]);
  });

  it('in a preview is refused with the nearest one', async () => {
    const body = JSON.stringify({ cron: '@daily', timezone: 'Europe/Kyiv' });
    const response = await node.call('POST', '/v2/cron/preview', { body });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('did you mean timeZone?');
  });
});
