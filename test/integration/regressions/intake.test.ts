// What went wrong elsewhere with what comes in and with what comes back: keys raced over, rows never queued, bytes that no store takes.

import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ID_RANDOM_BYTES, messageId } from '../../../src/domain/ids.js';
import { shardOfMessage } from '../../../src/domain/shard.js';
import { messageColumns, pending } from '../../../src/postgres/messages/message-columns.js';
import { aMessage } from '../../kit/messages.js';
import { startTestNode, type TestNode } from '../../kit/node.js';
import { expectInvariants, publish, rowOf, untilState } from '../../kit/work.js';

/** Bytes that are no text: NUL, half of a surrogate pair, a lone continuation byte. */
const NO_TEXT = Buffer.from([0x61, 0x00, 0xed, 0xa0, 0x80, 0x80, 0xff, 0x0d, 0x0a, 0x00]);

let node: TestNode;
/** Answers whatever bytes the path asks for. */
let raw: Server;
let rawUrl: string;
const rawAnswers: Record<string, Buffer> = {
  '/nul-in-header': Buffer.from('HTTP/1.1 500 No\r\nX-Bad: a\0b\r\nContent-Length: 0\r\n\r\n'),
  '/high-bytes-in-header': Buffer.from(
    'HTTP/1.1 500 No\r\nX-High: caf\xe9 \xff\r\nContent-Length: 0\r\n\r\n',
    'latin1',
  ),
  '/nul-in-reason': Buffer.from('HTTP/1.1 500 N\0o\r\nContent-Length: 0\r\n\r\n'),
  '/no-http': Buffer.from('\0\0\0 nothing of that kind \xff\r\n\r\n', 'latin1'),
  '/body': Buffer.concat([Buffer.from(`HTTP/1.1 500 No\r\nContent-Length: ${NO_TEXT.length}\r\n\r\n`), NO_TEXT]),
  '/cut-off': Buffer.from('HTTP/1.1 500 No\r\nContent-Length: 100\r\n\r\n\0\0'),
};

beforeAll(async () => {
  node = await startTestNode({ CARILLON_RESCUE_EVERY_MS: 500 });
  raw = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (data) => {
      const path = /^\w+ (\S+)/.exec(data.toString('latin1'))?.[1] ?? '';
      socket.end(rawAnswers[path] ?? Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
    });
  });
  await new Promise<void>((resolve) => raw.listen(0, '127.0.0.1', resolve));
  rawUrl = `http://127.0.0.1:${(raw.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await expectInvariants(node);
  raw.close();
  await node.stop();
});

const calls = (path: string) => node.sink.calls.filter((call) => call.path === path);

describe('a key', () => {
  it('given by 100 clients at once makes one message and 100 equal answers (report 19)', async () => {
    const responses = await Promise.all(
      Array.from({ length: 100 }, () =>
        node.call('POST', `/v2/publish/${node.sink.url}/raced`, {
          headers: { 'Carillon-Idempotency-Key': 'raced' },
          body: 'once',
        }),
      ),
    );
    const answers = await Promise.all(responses.map((response) => response.json() as Promise<{ messageId: string }>));
    expect(new Set(answers.map((answer) => answer.messageId)).size).toBe(1);
    expect(responses.filter(({ status }) => status === 202)).toHaveLength(99);
    const id = answers[0]!.messageId.slice('msg_'.length);
    await untilState(node, id, 'delivered');
    expect(calls('/raced')).toHaveLength(1);
    expect(await node.database.text(`select 1 from messages where idempotency_key = 'raced'`)).toHaveLength(1);
  });

  it('answers with the first message also when that is done, failed or canceled (report 19)', async () => {
    node.sink.answer((call) => (call.path === '/fails' ? { status: 500 } : {}));
    for (const [path, end] of [
      ['/works', 'delivered'],
      ['/fails', 'failed'],
      ['/canceled', 'canceled'],
    ] as const) {
      const headers = { 'Carillon-Idempotency-Key': path, 'Upstash-Retries': '0' };
      const delayed = end === 'canceled' ? { ...headers, 'Upstash-Delay': '1h' } : headers;
      const id = await publish(node, path, { headers: delayed });
      if (end === 'canceled') await node.call('DELETE', `/v2/messages/msg_${id}`);
      await untilState(node, id, end);
      expect(await publish(node, path, { headers })).toBe(id);
    }
  });
});

describe('a row that was committed and never queued (report 19)', () => {
  it('is delivered all the same, once', async () => {
    const dueAtMs = Date.now() - 30_000;
    const messages = Array.from({ length: 20 }, () => {
      const id = messageId(dueAtMs, randomBytes(ID_RANDOM_BYTES));
      const shard = shardOfMessage(id, node.config.CARILLON_SHARDS);
      return aMessage({ id, shard, dueAtMs, destination: `${node.sink.url}/unqueued` });
    });
    await node.database.run('insert-messages', messageColumns(messages.map(pending)));
    for (const { id } of messages) await untilState(node, id, 'delivered');
    expect(calls('/unqueued')).toHaveLength(20);
  });
});

describe('bytes that are no text (report 27)', () => {
  it('come out of a body as they went in, from Redis and from PostgreSQL', async () => {
    const large = Buffer.concat([NO_TEXT, randomBytes(300_000)]);
    for (const body of [NO_TEXT, large, Buffer.alloc(0), Buffer.from('\ud800', 'utf16le')]) {
      const id = await publish(node, '/bytes', { body });
      const [call] = await node.sink.waitFor(1, (candidate) => candidate.messageId === `msg_${id}`);
      expect(call?.body.equals(body)).toBe(true);
      await untilState(node, id, 'delivered');
      const stored = await node.database.text<{ body: Buffer }>('select body from messages where id = $1', [id]);
      expect(stored[0]?.body.equals(body)).toBe(true);
    }
  });

  it('come out as they went in after a retry, when the body is read from PostgreSQL', async () => {
    let failures = 0;
    node.sink.answer((call) => (call.path === '/bytes-again' && failures++ === 0 ? { status: 500 } : {}));
    const id = await publish(node, '/bytes-again', { body: NO_TEXT, headers: { 'Upstash-Retry-Delay': '50' } });
    const [first, second] = await node.sink.waitFor(2, (candidate) => candidate.messageId === `msg_${id}`);
    expect([first?.body.equals(NO_TEXT), second?.body.equals(NO_TEXT)]).toEqual([true, true]);
  });

  it('in an answer are kept as bytes, and every delivery reaches its end', async () => {
    const ids = await Promise.all(
      Object.keys(rawAnswers).map(async (path) => {
        const headers = { 'Upstash-Retries': '1', 'Upstash-Retry-Delay': '50' };
        const response = await node.call('POST', `/v2/publish/${rawUrl}${path}`, { headers });
        return [path, ((await response.json()) as { messageId: string }).messageId.slice(4)] as const;
      }),
    );
    for (const [path, id] of ids) {
      const row = await untilState(node, id, 'failed');
      expect(row.attempts, path).toBe(2);
      const attempts = 'select attempt from attempts where message_id = $1';
      expect(await node.database.text(attempts, [id]), path).toHaveLength(2);
    }
    const [, body] = ids.find(([path]) => path === '/body')!;
    expect((await rowOf(node, body))?.last_body?.equals(NO_TEXT)).toBe(true);
  });

  it('in an answer reach the callback as they came', async () => {
    const headers = { 'Upstash-Callback': `${node.sink.url}/told`, 'Upstash-Retries': '0' };
    await node.call('POST', `/v2/publish/${rawUrl}/body`, { headers, body: NO_TEXT });
    const [call] = await node.sink.waitFor(1, ({ path }) => path === '/told');
    const told = JSON.parse(call!.body.toString()) as { body: string; sourceBody: string };
    expect(Buffer.from(told.body, 'base64').equals(NO_TEXT)).toBe(true);
    expect(Buffer.from(told.sourceBody, 'base64').equals(NO_TEXT)).toBe(true);
  });

  it('in what a client says are refused with a reason, item by item, and never break the server', async () => {
    const good = { destination: `${node.sink.url}/good` };
    const headers = (value: Record<string, string>) => ({ ...good, headers: value });
    const batch = [
      good,
      { ...good, body: 'half \ud800 of a pair' },
      headers({ 'Upstash-Label': 'a\0b' }),
      headers({ 'Upstash-Label': '\udc00' }),
      headers({ 'Carillon-Idempotency-Key': 'k\0' }),
      headers({ 'Upstash-Deduplication-Id': 'd\ud800' }),
      headers({ 'X-Thing': 'v\0' }),
      headers({ 'Upstash-Callback': `${node.sink.url}/\0` }),
      { destination: `${node.sink.url}/\0` },
      { destination: `${node.sink.url}/\ud800` },
      { ...good, body: 'NUL \0 is text' },
    ];
    const response = await node.call('POST', '/v2/batch', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(batch),
    });
    expect(response.status).toBe(200);
    const answers = (await response.json()) as { messageId?: string; error?: string; status?: number }[];
    const accepted = answers.flatMap((answer, index) => (answer.messageId === undefined ? [] : [index]));
    expect(accepted).toContain(0);
    expect(accepted).toContain(batch.length - 1);
    for (const { messageId: id, status, error } of answers) {
      if (id !== undefined) await untilState(node, id.slice(4), 'delivered');
      else expect(status, error).toBe(400);
    }
    const query = '?upstash-label=a%00b';
    expect((await node.call('POST', `/v2/publish/${node.sink.url}/q${query}`)).status).toBe(400);
  });
});
