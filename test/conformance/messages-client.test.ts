// The official client on messages: get and cancel, one or many.

/* eslint-disable @typescript-eslint/no-deprecated -- what older code calls must work as well */
import { Client } from '@upstash/qstash';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestNode, type TestNode } from '../kit/node.js';

let node: TestNode;
let client: Client;
beforeAll(async () => {
  node = await startTestNode();
  client = new Client({ baseUrl: node.url, token: node.token, devMode: false, retry: false });
});
afterAll(() => node.stop());

/** A message that waits for a day. */
const publish = async (options: { label?: string | string[]; path?: string } = {}): Promise<string> => {
  const { messageId } = await client.publishJSON({
    url: `${node.sink.url}${options.path ?? '/waiting'}`,
    body: { hello: 'world' },
    delay: '1d',
    ...(options.label === undefined ? {} : { label: options.label }),
  });
  return messageId;
};
const failure = (status: number): unknown => expect.objectContaining({ status });

describe('client.messages', () => {
  it('gets a message that waits', async () => {
    const before = Date.now();
    const { messageId } = await client.publishJSON({
      url: `${node.sink.url}/get?x=1`,
      body: { hello: 'world' },
      headers: { 'Test-Header': 'a' },
      delay: '1h',
      retries: 5,
      label: ['one', 'two'],
      callback: `${node.sink.url}/callback`,
    });
    const message = await client.messages.get(messageId);
    expect(message).toMatchObject({
      messageId,
      url: `${node.sink.url}/get?x=1`,
      method: 'POST',
      body: '{"hello":"world"}',
      maxRetries: 5,
      callback: `${node.sink.url}/callback`,
      label: 'one',
      header: { 'Content-Type': ['application/json'], 'Test-Header': ['a'] },
    });
    expect(message.notBefore).toBeGreaterThanOrEqual(before + 3_590_000);
    expect(message.createdAt).toBeGreaterThanOrEqual(before - 1_000);
    for (const absent of [
      'urlGroup',
      'scheduleId',
      'failureCallback',
      'queueName',
      'flowControlKey',
      'ratePerSecond',
    ]) {
      expect(message[absent as keyof typeof message]).toBeUndefined();
    }
  });

  it('cancels one, which is unknown afterwards and never arrives', async () => {
    const messageId = await publish();
    expect(await client.messages.cancel(messageId)).toEqual({ cancelled: 1 });
    await expect(client.messages.get(messageId)).rejects.toEqual(failure(404));
    await expect(client.messages.cancel(messageId)).rejects.toEqual(failure(404));
    await expect(client.messages.delete(messageId)).rejects.toEqual(failure(404));
  });

  it('cancels several by their ids', async () => {
    const ids = [await publish(), await publish(), await publish()];
    expect(await client.messages.cancel([ids[0]!, ids[1]!])).toEqual({ cancelled: 2 });
    expect(await client.messages.deleteMany([ids[2]!])).toBe(1);
    expect(await client.messages.cancel([])).toEqual({ cancelled: 0 });
  });

  it('cancels by filters, and no more than count', async () => {
    await publish({ label: 'red', path: '/a' });
    await publish({ label: 'red', path: '/b' });
    await publish({ label: 'red', path: '/c' });
    const left = await publish({ label: 'blue', path: '/a' });
    expect(await client.messages.cancel({ filter: { label: 'red' }, count: 1 })).toEqual({ cancelled: 1 });
    const url = [`${node.sink.url}/a`, `${node.sink.url}/b`, `${node.sink.url}/c`];
    expect(await client.messages.cancel({ filter: { label: 'red', url } })).toEqual({ cancelled: 2 });
    expect((await client.messages.get(left)).label).toBe('blue');
  });

  it('cancels all', async () => {
    await publish();
    await publish();
    const { cancelled } = await client.messages.cancel({ all: true });
    expect(cancelled).toBeGreaterThanOrEqual(2);
    expect(await client.messages.cancel({ all: true })).toEqual({ cancelled: 0 });
    expect(node.sink.calls).toEqual([]);
  });

  it('refuses a filter that does not exist, and cancels nothing', async () => {
    const messageId = await publish({ label: 'kept' });
    const filter = { labeel: 'kept' } as unknown as { label: string };
    await expect(client.messages.cancel({ filter })).rejects.toEqual(failure(400));
    expect((await client.messages.get(messageId)).messageId).toBe(messageId);
  });
});
