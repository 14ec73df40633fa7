// Issue 11, A8: work that makes work ends at a depth, whoever calls whom, and a message with callbacks is not stored again for each attempt.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestNode, type TestNode } from '../../kit/node.js';
import { publish, rowOf, rowsOf, schedule, scheduleOf, until, untilState } from '../../kit/work.js';

const DEPTH_MAX = 6;

let node: TestNode;
beforeAll(async () => {
  node = await startTestNode({ CARILLON_DEPTH_MAX: DEPTH_MAX });
});
afterAll(() => node.stop());

/** The depth that a stored message has. */
async function depthsOf(where: string, values: readonly unknown[]): Promise<number[]> {
  const rows = await node.database.text<{ depth: number }>(
    `select coalesce((options->>'depth')::integer, 0) as depth from messages where ${where} order by depth`,
    values,
  );
  return rows.map(({ depth }) => depth);
}

function depthHeader(depth: number): Record<string, string> {
  return { 'Carillon-Depth': String(depth) };
}

async function post(path: string, headers: Record<string, string> = {}, body = ''): Promise<Response> {
  return node.call('POST', path, { headers, body });
}

async function refusal(response: Response): Promise<string> {
  expect(response.status).toBe(400);
  return ((await response.json()) as { error: string }).error;
}

/** What a schedule needs to call this API as the tenant. */
function ownHeaders(): Record<string, string> {
  return { 'Upstash-Forward-Authorization': `Bearer ${node.token}`, 'Upstash-Retries': '0' };
}

describe('a schedule that calls the batch of its own cluster, which triggers it twice', () => {
  it('ends at the depth, and each of its runs is one deeper than what made it', async () => {
    const id = 'doubles';
    const trigger = {
      destination: `${node.url}/v2/schedules/${id}/trigger`,
      headers: { ...ownHeaders() },
    };
    const headers = { 'Upstash-Cron': '0 0 1 1 *', 'Upstash-Schedule-Id': id, ...ownHeaders() };
    const made = await post(
      `/v2/schedules/${node.url}/v2/batch`,
      { ...headers, 'Content-Type': 'application/json' },
      JSON.stringify([trigger, trigger]),
    );
    expect(made.status, await made.clone().text()).toBe(200);
    expect((await post(`/v2/schedules/${id}/trigger`)).status).toBe(200);
    await until(async () => {
      const [counts] = await node.database.text<{ pending: string; made: string }>(
        `select count(*) filter (where state = 'pending') as pending, count(*) as made from messages where tenant_id = 1`,
      );
      expect(Number(counts!.pending)).toBe(0);
      expect(Number(counts!.made)).toBeGreaterThan(20);
    }, 25_000);
    // A run at 0, its two triggers at 1, two runs at 2, four triggers at 3, and so on: as many runs as triggers before them.
    expect(await depthsOf(`schedule_id = $1`, [id])).toEqual([0, 2, 2, 4, 4, 4, 4, ...Array<number>(8).fill(6)]);
    // The last runs were refused by the batch.
    const last = (await rowsOf(node, id)).filter(({ state }) => state === 'failed');
    expect(last).toHaveLength(8);
    expect(last[0]).toMatchObject({ last_status: 400, in_dlq: true });
    expect(last[0]!.last_body?.toString()).toMatch(/depth 7 is beyond 6 \(CARILLON_DEPTH_MAX\)/);
  }, 40_000);
});

describe('what a request makes', () => {
  it.each([
    ['without a delivery behind it', {}, 0],
    ['after a delivery that a client asked for', depthHeader(0), 1],
    ['after a deeper one', depthHeader(4), 5],
    ['through a client that prefixes what is passed on', { 'Upstash-Forward-Carillon-Depth': '4' }, 5],
    ['with a lesser depth beside the true one', { ...depthHeader(4), 'Upstash-Forward-Carillon-Depth': '0' }, 5],
    ['with two of them joined on the way', { 'Carillon-Depth': '4, 0' }, 5],
  ])('%s is as deep as that says, and its delivery tells', async (_how, headers, depth) => {
    const id = await publish(node, '/depth', { headers });
    const [call] = await node.sink.waitFor(1, ({ messageId }) => messageId === `msg_${id}`);
    expect(call!.headers['carillon-depth']).toBe(String(depth));
    expect(await depthsOf('id = $1::uuid', [id])).toEqual([depth]);
  });

  it('is refused beyond the depth: publish, batch, schedule, schedules, trigger, retries', async () => {
    await schedule(node, 'quiet', '0 0 1 1 *');
    const items = JSON.stringify([{ destination: node.sink.url }]);
    const cron = { 'Upstash-Cron': '0 0 1 1 *' };
    for (const [path, headers, body] of [
      [`/v2/publish/${node.sink.url}/too-deep`, {}, ''],
      ['/v2/batch', {}, items],
      [`/v2/schedules/${node.sink.url}/too-deep`, cron, ''],
      ['/v2/schedules/batch', {}, items],
      ['/v2/schedules/quiet/trigger', {}, ''],
      ['/v2/dlq/retry', {}, ''],
    ] as const) {
      const response = await post(path, { ...headers, ...depthHeader(DEPTH_MAX) }, body);
      expect(await refusal(response), path).toMatch(/depth 7 is beyond 6 \(CARILLON_DEPTH_MAX\)/);
    }
    expect(node.sink.calls.filter(({ path }) => path === '/too-deep')).toEqual([]);
  });

  it('is refused when the header is no depth', async () => {
    for (const wrong of ['-1', 'deep', '1.5', '9999999999']) {
      const response = await post('/v2/batch', { 'Carillon-Depth': wrong }, '[]');
      expect(await refusal(response)).toMatch(/Carillon-Depth is .*expected the whole number/);
    }
  });

  it('in a batch is as deep as the batch, whatever an item says', async () => {
    const destination = `${node.sink.url}/in-batch`;
    const items = [
      { destination },
      { destination, headers: { 'Carillon-Depth': '0' } },
      { destination, headers: { 'Upstash-Forward-Carillon-Depth': '0' } },
    ];
    const answers = (await (await post('/v2/batch', depthHeader(2), JSON.stringify(items))).json()) as object[];
    expect(answers).toHaveLength(3);
    expect(await depthsOf('destination = $1', [destination])).toEqual([3, 3, 3]);
  });

  it('as a schedule gives its depth to its occurrences and runs; saving it again as it is changes nothing', async () => {
    await schedule(node, 'deep', '* * * * * *', { headers: depthHeader(2) });
    const [call] = await node.sink.waitFor(1, ({ scheduleId }) => scheduleId === 'deep');
    expect(call!.headers['carillon-depth']).toBe('3');
    await schedule(node, 'deep', '* * * * * *', { headers: depthHeader(4) });
    expect((await scheduleOf(node, 'deep'))?.generation).toBe(1);
    await node.call('POST', '/v2/schedules/deep/pause');
    const run = (await (await post('/v2/schedules/deep/trigger')).json()) as { messageId: string };
    expect(await depthsOf('id = $1::uuid', [run.messageId.slice(4)])).toEqual([3]);
    const deeper = (await (await post('/v2/schedules/deep/trigger', depthHeader(4))).json()) as { messageId: string };
    expect(await depthsOf('id = $1::uuid', [deeper.messageId.slice(4)])).toEqual([5]);
  });

  it('as the retry of a dead letter is as deep as that was', async () => {
    const headers = { ...depthHeader(3), 'Upstash-Retries': '0' };
    const response = await post('/v2/publish/http://127.0.0.1:1/closed', headers);
    const { messageId } = (await response.json()) as { messageId: string };
    await untilState(node, messageId.slice(4), 'failed');
    await post(`/v2/dlq/retry?messageId=${messageId}`);
    await until(async () => {
      expect(await depthsOf('source_id = $1::uuid', [messageId.slice(4)])).toEqual([4]);
    });
  });
});

describe('a callback', () => {
  it('is one deeper than what it reports on', async () => {
    const id = await publish(node, '/reported', {
      headers: { ...depthHeader(1), 'Upstash-Callback': `${node.sink.url}/report` },
    });
    const [call] = await node.sink.waitFor(1, ({ path }) => path === '/report');
    expect(call!.headers['carillon-depth']).toBe('3');
    expect(await depthsOf('source_id = $1::uuid', [id])).toEqual([3]);
  });

  it('beyond the depth is recorded with the reason and not sent', async () => {
    const id = await publish(node, '/deepest', {
      headers: { ...depthHeader(DEPTH_MAX - 1), 'Upstash-Callback': `${node.sink.url}/unreported` },
    });
    await untilState(node, id, 'delivered');
    const rows = await node.database.text('select state, reason, kind from messages where source_id = $1::uuid', [id]);
    expect(rows).toEqual([
      { state: 'skipped', kind: 'callback', reason: expect.stringMatching(/^depth 7 is beyond 6/) as string },
    ]);
    const shown = await node.call('GET', `/v2/runs?state=skipped`);
    expect(shown.status).toBe(200);
    expect(JSON.stringify(await shown.json())).toContain('depth 7 is beyond 6');
    expect(node.sink.calls.filter(({ path }) => path === '/unreported')).toEqual([]);
  });
});

describe('a large message with a callback that fails twenty times', () => {
  const BYTES = 200_000;
  const RETRIES = 20;

  it.each([
    ['a short answer', 'no'],
    ['its own body as the answer', 'x'.repeat(BYTES)],
  ])(
    'and gets %s is stored a few times at the most, and each callback carries all of it',
    async (what, answer) => {
      const name = answer.length > 100 ? 'echo' : 'short';
      const body = Buffer.alloc(BYTES, `${what} `);
      node.sink.answer(({ path }) => (path === `/large-${name}` ? { status: 500, body: answer } : {}));
      const id = await publish(node, `/large-${name}`, {
        body,
        headers: {
          'Upstash-Retries': String(RETRIES),
          'Upstash-Retry-Delay': '1',
          'Upstash-Callback': `${node.sink.url}/large-${name}-report`,
          'Upstash-Failure-Callback': `${node.sink.url}/large-${name}-failed`,
          'Upstash-Forward-X-Kept': 'y'.repeat(2_000),
        },
      });
      const reports = await node.sink.waitFor(RETRIES + 1, ({ path }) => path === `/large-${name}-report`, 20_000);
      const [failed] = await node.sink.waitFor(1, ({ path }) => path === `/large-${name}-failed`, 20_000);
      expect((await rowOf(node, id))?.attempts).toBe(RETRIES + 1);
      const [stored] = await node.database.text<{ bytes: string }>(
        `select (select sum(length(body) + length(headers::text) + coalesce(length(last_body), 0)) from messages where id = $1::uuid or source_id = $1::uuid)
            + (select sum(coalesce(length(body), 0)) from attempts where message_id = $1::uuid) as bytes`,
        [id],
      );
      expect(Number(stored!.bytes)).toBeLessThan(8 * BYTES);
      for (const call of [...reports, failed!]) {
        const report = JSON.parse(call.body.toString()) as Record<string, string> & { sourceHeader: object };
        expect(Buffer.from(report.sourceBody!, 'base64').equals(body)).toBe(true);
        expect(report.sourceHeader).toHaveProperty('X-Kept');
      }
      // The end has the whole answer; what was tried again says that it has not.
      const last = JSON.parse(failed!.body.toString()) as { body: string; bodyTruncated?: true };
      expect(Buffer.from(last.body, 'base64').toString()).toBe(answer);
      expect(last).not.toHaveProperty('bodyTruncated');
      const cut = reports.filter((call) => (JSON.parse(call.body.toString()) as typeof last).bodyTruncated === true);
      expect(cut).toHaveLength(name === 'echo' ? RETRIES : 0);
    },
    45_000,
  );

  it('shows the whole body of a callback that could not be delivered, and its retry carries it', async () => {
    const body = Buffer.alloc(5_000, 'source ');
    let isBack = false;
    node.sink.answer(({ path }) => (path === '/lost-report' && !isBack ? { status: 500 } : {}));
    const id = await publish(node, '/reports-late', {
      body,
      headers: { 'Upstash-Callback': `${node.sink.url}/lost-report`, 'Upstash-Callback-Retries': '0' },
    });
    const [callback] = await node.sink.waitFor(1, ({ path }) => path === '/lost-report');
    await untilState(node, callback!.messageId.slice(4), 'failed');
    const list = await node.call('GET', `/v2/dlq?messageId=${callback!.messageId}`);
    const [{ dlqId }] = ((await list.json()) as { messages: [{ dlqId: string }] }).messages;
    const letter = (await (await node.call('GET', `/v2/dlq/${dlqId}`)).json()) as { body: string };
    expect((JSON.parse(letter.body) as { sourceBody: string }).sourceBody).toBe(body.toString('base64'));
    isBack = true;
    await post(`/v2/dlq/retry/${dlqId}`);
    const [, again] = await node.sink.waitFor(2, ({ path }) => path === '/lost-report');
    expect(again!.body.equals(callback!.body)).toBe(true);
    expect((JSON.parse(again!.body.toString()) as { sourceMessageId: string }).sourceMessageId).toBe(`msg_${id}`);
  });
});
