// The official client on dead letters: list, page, filter, delete, retry.

import { Client } from '@upstash/qstash';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { startTestNode, type TestNode } from '../kit/node.js';

let node: TestNode;
let client: Client;
beforeAll(async () => {
  node = await startTestNode();
  client = new Client({ baseUrl: node.url, token: node.token, devMode: false, retry: false });
});
afterAll(() => node.stop());
afterEach(async () => {
  await client.dlq.delete({ all: true });
});

/** Publishes messages that fail at once, and waits until they are listed; gives their dead letters' ids. */
async function fail(count: number, label: string): Promise<string[]> {
  node.sink.answer(() => ({ status: 500, body: 'boom', headers: { 'x-why': 'test' } }));
  for (let index = 0; index < count; index++) {
    await client.publishJSON({ url: `${node.sink.url}/fails`, body: { index }, retries: 0, label });
  }
  const messages = await vi.waitFor(
    async () => {
      const found = (await client.dlq.listMessages({ filter: { label } })).messages;
      expect(found).toHaveLength(count);
      return found;
    },
    { timeout: 15_000, interval: 25 },
  );
  return messages.map((message) => message.dlqId);
}
const failure = (status: number): unknown => expect.objectContaining({ status });
const idsOf = async (label: string): Promise<string[]> =>
  (await client.dlq.listMessages({ filter: { label } })).messages.map((message) => message.dlqId);

describe('client.dlq', () => {
  it('lists a dead letter with its last answer', async () => {
    const [dlqId] = await fail(1, 'shown');
    const { messages, cursor } = await client.dlq.listMessages();
    expect(cursor).toBeUndefined();
    expect(messages).toHaveLength(1);
    expect(messages[0]).toMatchObject({
      dlqId,
      url: `${node.sink.url}/fails`,
      method: 'POST',
      body: '{"index":0}',
      maxRetries: 0,
      label: 'shown',
      responseStatus: 500,
      responseBody: 'boom',
    });
    expect(messages[0]!.messageId).toMatch(/^msg_[0-9a-f]{32}$/);
    expect(messages[0]!.urlGroup).toBeUndefined();
    expect(messages[0]!.responseHeader).toMatchObject({ 'X-Why': ['test'] });
  });

  it('pages, filters, and finds by ids', async () => {
    const ids = await fail(3, 'paged');
    const first = await client.dlq.listMessages({ count: 2, filter: { label: 'paged' } });
    expect(first.messages.map((message) => message.dlqId)).toEqual(ids.slice(0, 2));
    const rest = await client.dlq.listMessages({ count: 2, cursor: first.cursor!, filter: { label: 'paged' } });
    expect(rest.messages.map((message) => message.dlqId)).toEqual(ids.slice(2));
    expect(rest.cursor).toBeUndefined();
    expect((await client.dlq.listMessages({ filter: { responseStatus: 404 } })).messages).toEqual([]);
    expect((await client.dlq.listMessages({ dlqIds: [ids[1]!] })).messages.map((m) => m.dlqId)).toEqual([ids[1]]);
  });

  it('deletes one, several, by filter, and all', async () => {
    const ids = await fail(4, 'deleted');
    await client.dlq.delete(ids[0]!);
    await expect(client.dlq.delete(ids[0]!)).rejects.toEqual(failure(404));
    expect(await client.dlq.delete([ids[0]!, ids[1]!])).toMatchObject({ deleted: 1 });
    const byFilter = await client.dlq.delete({ filter: { label: 'deleted' }, count: 1 });
    expect(byFilter.deleted).toBe(1);
    expect(byFilter.cursor).toBeTypeOf('string');
    const last = await client.dlq.delete({ filter: { label: 'deleted' }, cursor: byFilter.cursor! });
    expect(last).toEqual({ deleted: 1 });
    expect(await idsOf('deleted')).toEqual([]);
    const filter = { labeel: 'x' } as unknown as { label: string };
    await expect(client.dlq.delete({ filter })).rejects.toEqual(failure(400));
  });

  it('retries one: a new message of the same work arrives, and the dead letter is gone', async () => {
    const [dlqId] = await fail(1, 'retried');
    const [failed] = node.sink.calls.filter((call) => call.path === '/fails').slice(-1);
    node.sink.answer(() => ({ status: 200 }));
    const { responses } = await client.dlq.retry(dlqId!);
    expect(responses).toHaveLength(1);
    const messageId = responses[0]!.messageId;
    const [again] = await node.sink.waitFor(1, (call) => call.messageId === messageId);
    expect(again!.body).toEqual(failed!.body);
    expect(messageId).not.toBe(failed!.messageId);
    expect(await idsOf('retried')).toEqual([]);
    await vi.waitFor(async () => {
      const run = (await (await node.call('GET', `/v2/runs/${messageId}`)).json()) as Record<string, unknown>;
      expect(run).toMatchObject({ state: 'delivered', kind: 'dlq-retry', sourceMessageId: failed!.messageId });
    });
  });

  it('retries many in a loop over the cursor', async () => {
    await fail(5, 'many');
    node.sink.answer(() => ({ status: 200 }));
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await client.dlq.retry({
        filter: { label: 'many' },
        count: 2,
        ...(cursor === undefined ? {} : { cursor }),
      });
      ids.push(...page.responses.map((answer) => answer.messageId));
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(new Set(ids).size).toBe(5);
    await node.sink.waitFor(5, (call) => ids.includes(call.messageId));
  });
});
