// From publish to end: retries, dead letters, callbacks, cancels, delays and limits, as a receiver and the record see them.

import { createServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer, Answering, Call } from '../../kit/sink.js';
import { startSink, type Sink } from '../../kit/sink.js';
import { startTestNode, type TestNode } from '../../kit/node.js';
import { expectInvariants, publish, rowOf, schedule, until, untilRows, untilState } from '../../kit/work.js';

let node: TestNode;
/** Answers by path; anything else gets a 200. */
const answers = new Map<string, Answering>();

beforeAll(async () => {
  node = await startTestNode({ CARILLON_HOST_CONCURRENCY: 4, CARILLON_CONCURRENCY: 40 });
  node.sink.answer((call) => answers.get(call.path)?.(call) ?? {});
});
afterAll(async () => {
  await expectInvariants(node);
  await node.stop();
});

const of = (id: string) => (call: Call) => call.messageId === `msg_${id}`;

/** Answers with these one after the other, the last one from then on. */
function inTurn(path: string, ...turns: Answer[]): void {
  let index = 0;
  answers.set(path, () => turns[Math.min(index++, turns.length - 1)] ?? {});
}

function latch(): { readonly opened: Promise<Answer>; open: (answer?: Answer) => void } {
  let open: (answer?: Answer) => void = () => undefined;
  const opened = new Promise<Answer>((resolve) => (open = (answer = {}) => resolve(answer)));
  return { opened, open };
}

describe.concurrent('a failing delivery', () => {
  it('is tried again after the delay of its expression, and ends as a dead letter', async () => {
    inTurn('/always-500', { status: 500, body: 'no luck' });
    const headers = { 'Upstash-Retries': '2', 'Upstash-Retry-Delay': '100 * (1 + retried)' };
    const id = await publish(node, '/always-500', { headers, body: 'x' });
    const calls = await node.sink.waitFor(3, of(id));
    expect(calls.map(({ retried }) => retried)).toEqual([0, 1, 2]);
    expect(calls[1]!.atMs - calls[0]!.atMs).toBeGreaterThanOrEqual(100);
    expect(calls[2]!.atMs - calls[1]!.atMs).toBeGreaterThanOrEqual(200);
    const row = await untilState(node, id, 'failed');
    expect(row).toMatchObject({
      attempts: 3,
      in_dlq: true,
      last_status: 500,
      last_error: 'the destination answered 500',
    });
    expect(row.last_body?.toString()).toBe('no luck');
  });

  it('waits as long as the receiver asks', async () => {
    inTurn('/busy', { status: 429, headers: { 'Retry-After': '1' } }, {});
    const id = await publish(node, '/busy');
    const calls = await node.sink.waitFor(2, of(id));
    expect(calls[1]!.atMs - calls[0]!.atMs).toBeGreaterThanOrEqual(990);
    expect(await untilState(node, id, 'delivered')).toMatchObject({ attempts: 2 });
  });

  it('is over at once when the receiver says that trying again is no use', async () => {
    inTurn('/never-again', { status: 489, headers: { 'Upstash-NonRetryable-Error': 'true' } });
    const id = await publish(node, '/never-again', { headers: { 'Upstash-Retries': '5' } });
    expect(await untilState(node, id, 'failed')).toMatchObject({ attempts: 1, in_dlq: true, last_status: 489 });
  });

  it('follows no redirect', async () => {
    inTurn('/moved', { status: 302, headers: { Location: `${node.sink.url}/elsewhere` } });
    const id = await publish(node, '/moved', { headers: { 'Upstash-Retries': '0' } });
    expect(await untilState(node, id, 'failed')).toMatchObject({ last_status: 302 });
    expect(node.sink.calls.filter(({ path }) => path === '/elsewhere')).toEqual([]);
  });

  it('ends at its timeout', async () => {
    const answer = latch();
    answers.set('/silent', () => answer.opened);
    const headers = { 'Upstash-Timeout': '1', 'Upstash-Retries': '0' };
    const id = await publish(node, '/silent', { headers });
    expect(await untilState(node, id, 'failed')).toMatchObject({ attempts: 1, last_status: null });
    expect((await rowOf(node, id))?.last_error).toContain('1000 ms');
    answer.open();
  });

  it.each([
    ['204 with a length', 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n'],
    ['100 before it', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
    ['60 kB of headers', `HTTP/1.1 200 OK\r\nX-A: ${'y'.repeat(60_000)}\r\nContent-Length: 0\r\n\r\n`],
  ])('is not one that is answered by a 2xx with %s (issue 11, C)', async (_name, answer) => {
    let requests = 0;
    const server = createTcpServer((socket) => socket.on('data', () => void (requests++, socket.write(answer))));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const response = await node.call('POST', `/v2/publish/http://127.0.0.1:${port}/`);
    const id = ((await response.json()) as { messageId: string }).messageId.slice(4);
    expect(await untilState(node, id, 'delivered')).toMatchObject({ attempts: 1, in_dlq: false });
    expect(requests).toBe(1);
    server.close();
  });

  it('keeps of its headers no more than CARILLON_RESPONSE_HEADER_KEPT_BYTES (issue 11, C)', async () => {
    inTurn('/talkative', {
      status: 500,
      headers: { 'X-A': 'a', 'X-B': 'b'.repeat(15_000), 'X-C': 'c'.repeat(15_000) },
    });
    const id = await publish(node, '/talkative', { headers: { 'Upstash-Retries': '0' } });
    await untilState(node, id, 'failed');
    const run = (await (await node.call('GET', `/v2/runs/msg_${id}`)).json()) as { response: { headers: object } };
    expect(run.response.headers).toHaveProperty('X-B');
    expect(run.response.headers).not.toHaveProperty('X-C');
  });

  it('to a destination that is not there ends with the reason', async () => {
    const gone = createServer();
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
    const { port } = gone.address() as AddressInfo;
    await new Promise((resolve) => gone.close(resolve));
    const response = await node.call('POST', `/v2/publish/http://127.0.0.1:${port}/`, {
      headers: { 'Upstash-Retries': '0' },
    });
    const id = ((await response.json()) as { messageId: string }).messageId.slice(4);
    const row = await untilState(node, id, 'failed');
    expect(row.last_error).toMatch(/refused/i);
  });
});

describe.concurrent('callbacks', () => {
  it('tell of every attempt, and the failure callback of the end, once', async () => {
    inTurn('/told', { status: 503, body: 'later' });
    const headers = {
      'Upstash-Retries': '1',
      'Upstash-Retry-Delay': '50',
      'Upstash-Callback': `${node.sink.url}/callback`,
      'Upstash-Failure-Callback': `${node.sink.url}/failure-callback`,
      'Upstash-Callback-Forward-X-Secret': 'for the callback',
    };
    const id = await publish(node, '/told', { headers, body: 'the work' });
    await untilState(node, id, 'failed');
    const callbacks = await node.sink.waitFor(2, ({ path }) => path === '/callback');
    const [failure] = await node.sink.waitFor(1, ({ path }) => path === '/failure-callback');
    const told = callbacks.map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>);
    expect(told.map(({ retried }) => retried).sort()).toEqual([0, 1]);
    for (const one of told) {
      expect(one).toMatchObject({
        status: 503,
        maxRetries: 1,
        sourceMessageId: `msg_${id}`,
        url: `${node.sink.url}/told`,
      });
      expect(Buffer.from(String(one.body), 'base64').toString()).toBe('later');
      expect(Buffer.from(String(one.sourceBody), 'base64').toString()).toBe('the work');
    }
    expect(callbacks[0]!.headers['x-secret']).toBe('for the callback');
    const dead = JSON.parse(failure!.body.toString()) as { dlqId: string };
    expect((await node.call('GET', `/v2/dlq/${dead.dlqId}`)).status).toBe(200);
    expect(node.sink.calls.filter(({ path }) => path === '/failure-callback')).toHaveLength(1);
  });

  it('are messages with retries of their own', async () => {
    inTurn('/callback-fails', { status: 500 }, {});
    const headers = {
      'Upstash-Callback': `${node.sink.url}/callback-fails`,
      'Upstash-Callback-Retry-Delay': '50',
    };
    const id = await publish(node, '/plain', { headers });
    const [first, second] = await node.sink.waitFor(2, ({ path }) => path === '/callback-fails');
    expect(second!.messageId).toBe(first!.messageId);
    expect(second!.messageId).not.toBe(`msg_${id}`);
    const row = await untilState(node, second!.messageId.slice(4), 'delivered');
    expect(row).toMatchObject({ kind: 'callback', attempts: 2 });
  });
});

describe.concurrent('a cancel', () => {
  it('before the time keeps the message from being sent', async () => {
    const id = await publish(node, '/never-sent', { headers: { 'Upstash-Delay': '2s' } });
    const dueAtMs = (await rowOf(node, id))!.due_at;
    const response = await node.call('DELETE', `/v2/messages/msg_${id}`);
    expect(await response.json()).toMatchObject({ cancelled: 1 });
    await publish(node, '/after-it', { headers: { 'Upstash-Not-Before': String(dueAtMs / 1_000 + 0.2) } });
    await node.sink.waitFor(1, ({ path }) => path === '/after-it');
    expect(node.sink.calls.filter(({ path }) => path === '/never-sent')).toEqual([]);
    expect(await rowOf(node, id)).toMatchObject({ state: 'canceled', attempts: 0 });
    expect((await node.call('DELETE', `/v2/messages/msg_${id}`)).status).toBe(404);
  });

  it('in flight ends the message; a failure is not tried again', async () => {
    const answer = latch();
    answers.set('/in-flight-fails', () => answer.opened);
    const id = await publish(node, '/in-flight-fails', { headers: { 'Upstash-Retry-Delay': '1' } });
    await node.sink.waitFor(1, of(id));
    await node.call('DELETE', `/v2/messages/msg_${id}`);
    expect(await rowOf(node, id)).toMatchObject({ state: 'canceled' });
    answer.open({ status: 500 });
    await until(async () => {
      expect(await node.database.text('select 1 from attempts where message_id = $1', [id])).toHaveLength(1);
    });
    expect(await rowOf(node, id)).toMatchObject({ state: 'canceled', in_dlq: false });
    expect(node.sink.calls.filter(of(id))).toHaveLength(1);
  });

  it('in flight does not deny a success', async () => {
    const answer = latch();
    answers.set('/in-flight-works', () => answer.opened);
    const id = await publish(node, '/in-flight-works');
    await node.sink.waitFor(1, of(id));
    await node.call('DELETE', `/v2/messages/msg_${id}`);
    answer.open();
    expect(await untilState(node, id, 'delivered')).toMatchObject({ last_status: 200 });
  });

  it('between two attempts is the end', async () => {
    inTurn('/between', { status: 500 });
    const id = await publish(node, '/between', { headers: { 'Upstash-Retry-Delay': '600000' } });
    await until(async () => expect(await rowOf(node, id)).toMatchObject({ attempts: 1 }));
    await node.call('DELETE', `/v2/messages/msg_${id}`);
    expect(await rowOf(node, id)).toMatchObject({ state: 'canceled', attempts: 1 });
  });
});

describe.concurrent('a message', () => {
  it('is never early, however short its delay', async () => {
    const askedAtMs = Date.now();
    const delays = [1, 2, 3];
    const ids = await Promise.all(
      delays.map((delay) => publish(node, '/on-time', { headers: { 'Upstash-Delay': `${delay}s` } })),
    );
    for (const [index, id] of ids.entries()) {
      const [call] = await node.sink.waitFor(1, of(id));
      expect(call!.atMs - askedAtMs).toBeGreaterThanOrEqual(delays[index]! * 1_000);
    }
  });

  it('that is sent again from the dead letters is a new one, and the old one is off the list', async () => {
    inTurn('/second-life', { status: 500 }, {});
    const id = await publish(node, '/second-life', { headers: { 'Upstash-Retries': '0' }, body: 'again' });
    const dead = await untilState(node, id, 'failed');
    const dlqId = `${dead.finished_at}-${id}`;
    const retried = await node.call('POST', `/v2/dlq/retry/${dlqId}`);
    expect(retried.status).toBe(201);
    const next = ((await retried.json()) as { messageId: string }).messageId.slice(4);
    expect(next).not.toBe(id);
    await untilState(node, next, 'delivered');
    expect(await rowOf(node, id)).toMatchObject({ state: 'failed', in_dlq: false });
    expect((await node.call('POST', `/v2/dlq/retry/${dlqId}`)).status).toBe(404);
    const bodies = node.sink.calls.filter(({ path }) => path === '/second-life').map(({ body }) => body.toString());
    expect(bodies).toEqual(['again', 'again']);
  });

  it('of a schedule with a window is due at its own offset, the same each time', async () => {
    await schedule(node, 'spread', '* * * * * *', { headers: { 'Carillon-Window': '3s' } });
    const rows = await untilRows(node, 'spread', 3, ({ state }) => state === 'delivered');
    const offsets = new Set(rows.map(({ due_at, occurrence_at }) => due_at - (occurrence_at ?? 0)));
    expect(offsets.size).toBe(1);
    const [offsetMs] = [...offsets];
    expect(offsetMs).toBeGreaterThanOrEqual(0);
    expect(offsetMs).toBeLessThan(3_000);
    for (const call of node.sink.calls.filter(({ scheduleId }) => scheduleId === 'spread')) {
      expect(call.atMs).toBeGreaterThanOrEqual(Date.parse(call.occurrence ?? '') + offsetMs!);
    }
    await node.call('DELETE', '/v2/schedules/spread');
  });

  it('of a schedule with a delay is due so much later', async () => {
    await schedule(node, 'delayed', '* * * * * *', { headers: { 'Upstash-Delay': '1s' } });
    const [row] = await untilRows(node, 'delayed', 1, ({ state }) => state === 'delivered');
    expect(row!.due_at - row!.occurrence_at!).toBe(1_000);
    expect(row!.started_at).toBeGreaterThanOrEqual(row!.due_at);
    await node.call('DELETE', '/v2/schedules/delayed');
  });
});

describe('a slow destination', () => {
  let slow: Sink;
  beforeAll(async () => {
    slow = await startSink('127.0.0.2');
  });
  afterAll(() => slow.close());

  it('has no more calls under way than its limit, and holds up no other', { timeout: 60_000 }, async () => {
    const answer = latch();
    let most = 0;
    let now = 0;
    slow.answer(async () => {
      most = Math.max(most, (now += 1));
      await answer.opened;
      now -= 1;
      return {};
    });
    const ids = await Promise.all(
      Array.from({ length: 60 }, async () => {
        const response = await node.call('POST', `/v2/publish/${slow.url}/slow`);
        return ((await response.json()) as { messageId: string }).messageId.slice(4);
      }),
    );
    await slow.waitFor(4);
    const others = await Promise.all(Array.from({ length: 20 }, () => publish(node, '/beside')));
    for (const id of others) await untilState(node, id, 'delivered');
    expect(most).toBe(4);
    answer.open();
    for (const id of ids) await untilState(node, id, 'delivered', 30_000);
    expect(most).toBe(4);
    expect(slow.calls).toHaveLength(60);
  });
});

describe('a private destination', () => {
  it('is refused where they are not allowed: at publish as an address, at delivery as a name', async () => {
    await node.restartNode({ CARILLON_ALLOW_PRIVATE_DESTINATIONS: false });
    const before = node.sink.calls.length;
    expect((await node.call('POST', `/v2/publish/${node.sink.url}/private`)).status).toBe(400);
    const port = new URL(node.sink.url).port;
    const response = await node.call('POST', `/v2/publish/http://localtest.invalid:${port}/`, {
      headers: { 'Upstash-Retries': '0' },
    });
    const id = ((await response.json()) as { messageId: string }).messageId.slice(4);
    await untilState(node, id, 'failed');
    const callback = await node.call('POST', `/v2/publish/https://example.com/`, {
      headers: { 'Upstash-Callback': `${node.sink.url}/` },
    });
    expect(callback.status).toBe(400);
    expect(node.sink.calls).toHaveLength(before);
  });

  it('that was accepted while they were allowed is refused at delivery', async () => {
    await node.restartNode({ CARILLON_ALLOW_PRIVATE_DESTINATIONS: true });
    const id = await publish(node, '/was-allowed', { headers: { 'Upstash-Delay': '2s', 'Upstash-Retries': '0' } });
    await node.restartNode({ CARILLON_ALLOW_PRIVATE_DESTINATIONS: false });
    const row = await untilState(node, id, 'failed');
    expect(row.last_error).toMatch(/private|loopback|not allowed|refused/i);
    expect(node.sink.calls.filter(({ path }) => path === '/was-allowed')).toEqual([]);
  });
});
