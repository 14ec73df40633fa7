// The unmodified official client publishes, and its Receiver checks what arrives.

import { Client, QstashError, Receiver } from '@upstash/qstash';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Call } from '../kit/sink.js';
import { startTestNode, TEST_SIGNING_KEYS, type TestNode } from '../kit/node.js';

let node: TestNode;
let client: Client;
beforeAll(async () => {
  node = await startTestNode();
  client = new Client({ baseUrl: node.url, token: node.token, devMode: false, retry: false });
});
afterAll(() => node.stop());

const receiver = new Receiver({
  currentSigningKey: TEST_SIGNING_KEYS.current,
  nextSigningKey: TEST_SIGNING_KEYS.next,
});

async function arrival(messageId: string): Promise<Call> {
  const [call] = await node.sink.waitFor(1, (candidate) => candidate.messageId === messageId);
  if (call === undefined) throw new Error('waitFor gave no call');
  return call;
}

async function fault(work: Promise<unknown>): Promise<{ status: number | undefined; error: string }> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof QstashError)) throw error;
    return { status: error.status, ...(JSON.parse(error.message) as { error: string }) };
  }
  throw new Error('it was accepted');
}

describe('publish', () => {
  it('publishJSON arrives whole, with a signature that the Receiver verifies for its URL', async () => {
    const url = `${node.sink.url}/json?x=1&y=a%20b`;
    const { messageId } = await client.publishJSON({
      url,
      body: { hello: 'wörld\u0000' },
      headers: { 'Test-Header': 'v', 'X-Order': '7' },
    });
    const call = await arrival(messageId);
    expect(call).toMatchObject({ method: 'POST', path: '/json?x=1&y=a%20b', retried: 0 });
    expect(JSON.parse(call.body.toString())).toEqual({ hello: 'wörld\u0000' });
    expect(call.headers).toMatchObject({
      'test-header': 'v',
      'x-order': '7',
      'content-type': 'application/json',
      'user-agent': 'Upstash-QStash',
      'upstash-message-id': messageId,
    });
    expect(Object.keys(call.headers).filter((name) => name.includes('telemetry'))).toEqual([]);
    const signature = call.headers['upstash-signature'] as string;
    expect(await receiver.verify({ signature, body: call.body.toString(), url })).toBe(true);
    await expect(receiver.verify({ signature, body: call.body.toString(), url: `${url}&z=2` })).rejects.toThrow();
    await expect(receiver.verify({ signature, body: `${call.body.toString()} `, url })).rejects.toThrow();
  });

  it('publish sends text, bytes and nothing, by every method', async () => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
      const { messageId } = await client.publish({ url: `${node.sink.url}/methods`, method });
      const call = await arrival(messageId);
      expect([call.method, call.body.length, call.headers['content-type']]).toEqual([method, 0, undefined]);
    }
    const text = await client.publish({ url: `${node.sink.url}/text`, body: 'plain' });
    expect((await arrival(text.messageId)).headers['content-type']).toBe('text/plain;charset=UTF-8');
    const bytes = new Uint8Array([0, 255, 254, 128]);
    const binary = await client.publish({ url: `${node.sink.url}/bytes`, body: new Blob([bytes]) });
    expect((await arrival(binary.messageId)).body.equals(bytes)).toBe(true);
  });

  it('understands every option of the client', async () => {
    const before = Date.now();
    const { messageId } = await client.publishJSON({
      url: `${node.sink.url}/options`,
      body: {},
      delay: 3_600,
      retries: 7,
      retryDelay: 'pow(2, retried) * 1000',
      timeout: 1.5,
      label: ['a', 'b'],
      callback: `${node.sink.url}/cb`,
      failureCallback: `${node.sink.url}/fcb`,
      headers: { 'Upstash-Callback-Retries': '1', 'Upstash-Callback-Forward-X-Cb': 'c' },
    });
    const message = await client.messages.get(messageId);
    expect(message).toMatchObject({
      messageId,
      url: `${node.sink.url}/options`,
      method: 'POST',
      maxRetries: 7,
      retryDelayExpression: 'pow(2, retried) * 1000',
      callback: `${node.sink.url}/cb`,
      failureCallback: `${node.sink.url}/fcb`,
      label: 'a',
      labels: ['a', 'b'],
      body: '{}',
      header: { 'Content-Type': ['application/json'] },
    });
    expect(message.notBefore).toBeGreaterThanOrEqual(before + 3_600_000);
    await client.messages.cancel(messageId);
  });

  it('notBefore in the past means now; delay as text', async () => {
    const { messageId } = await client.publish({ url: `${node.sink.url}/past`, notBefore: 1_700_000_000, delay: '1d' });
    await arrival(messageId);
  });

  it('a Carillon setting among the headers is a setting, though the client prefixes it', async () => {
    const publish = (): Promise<{ messageId: string; deduplicated?: boolean }> =>
      client.publishJSON({
        url: `${node.sink.url}/keyed`,
        body: {},
        headers: { 'Carillon-Idempotency-Key': 'invoice-2026-03' },
      });
    const first = await publish();
    expect(await publish()).toMatchObject({ messageId: first.messageId, deduplicated: true });
    const call = await arrival(first.messageId);
    expect(call.headers['carillon-idempotency-key']).toBe('invoice-2026-03');
  });

  it('deduplicates by id and by content', async () => {
    const byId = () => client.publish({ url: `${node.sink.url}/dedup`, body: 'x', deduplicationId: 'd1', delay: 60 });
    const first = await byId();
    expect(await byId()).toMatchObject({ messageId: first.messageId, deduplicated: true });
    const byContent = (body: string) =>
      client.publish({ url: `${node.sink.url}/dedup`, body, contentBasedDeduplication: true, delay: 60 });
    const one = await byContent('one');
    expect(await byContent('one')).toMatchObject({ messageId: one.messageId, deduplicated: true });
    expect((await byContent('two')).messageId).not.toBe(one.messageId);
  });

  it('cancels what has not been sent', async () => {
    const { messageId } = await client.publish({ url: `${node.sink.url}/cancel`, delay: 3_600 });
    expect(await client.messages.cancel(messageId)).toMatchObject({ cancelled: 1 });
  });

  it('says what is wrong in a QstashError', async () => {
    const url = node.sink.url;
    expect(await fault(client.publish({ url: 'no-scheme.test/p' }))).toEqual({
      status: 400,
      error: 'invalid destination url: endpoint has invalid scheme, add http:// or https://',
    });
    expect(await fault(client.publish({ url, deduplicationId: 'a:b' }))).toEqual({
      status: 400,
      error: "DeduplicationId cannot contain ':'",
    });
    const retries = await fault(client.publish({ url, retries: 1_000 }));
    expect(retries).toEqual({ status: 400, error: expect.stringContaining('quota maxRetries exceeded') as string });
    const stranger = new Client({ baseUrl: node.url, token: 'nobody', devMode: false, retry: false });
    expect((await fault(stranger.publish({ url }))).status).toBe(401);
  });

  it('never pretends: URL groups, queues and flow control are 501 with a text', async () => {
    const url = node.sink.url;
    const attempts: (() => Promise<unknown>)[] = [
      () => client.publish({ urlGroup: 'group' }),
      () => client.queue({ queueName: 'q 1/é' }).enqueue({ url }),
      () => client.queue({ queueName: 'q' }).upsert({ parallelism: 2 }),
      () => client.urlGroups.list(),
      () => client.publish({ url, flowControl: { key: 'k', parallelism: 1 } }),
      () => client.flowControl.get('k'),
    ];
    for (const attempt of attempts) {
      expect(await fault(attempt())).toEqual({
        status: 501,
        error: expect.stringMatching(/not implemented yet/) as string,
      });
    }
  });
});

describe('batch', () => {
  it('batchJSON sends each item with its own settings, in order', async () => {
    const results = await client.batchJSON([
      { url: `${node.sink.url}/b1`, body: { n: 1 }, headers: { 'X-N': '1' }, method: 'PUT' },
      { url: `${node.sink.url}/b2`, body: { n: 2 }, delay: '1h', label: 'later' },
      { urlGroup: 'none-yet', body: {} },
    ]);
    expect(results).toHaveLength(3);
    const [first, second, third] = results as { messageId: string; error?: string }[];
    const call = await arrival(first?.messageId ?? '');
    expect(call).toMatchObject({ method: 'PUT', path: '/b1' });
    expect(call.headers).toMatchObject({ 'x-n': '1', 'content-type': 'application/json' });
    expect(call.body.toString()).toBe('{"n":1}');
    expect(await client.messages.get(second?.messageId ?? '')).toMatchObject({ label: 'later' });
    expect(third?.error).toMatch(/URL groups are not implemented yet/);
  });
});
