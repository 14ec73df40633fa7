// The official client on events: what it is told of deliveries, retries, ends and cancels.

import { Client } from '@upstash/qstash';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startTestNode, type TestNode } from '../kit/node.js';

let node: TestNode;
let client: Client;
beforeAll(async () => {
  node = await startTestNode();
  client = new Client({ baseUrl: node.url, token: node.token, devMode: false, retry: false });
});
afterAll(() => node.stop());

type Log = Awaited<ReturnType<Client['logs']>>['logs'][number];

/** The events of a message once it is in the given state, the latest first. */
const logsWhen = (messageId: string, state: Log['state']): Promise<Log[]> =>
  vi.waitFor(
    async () => {
      const { logs } = await client.logs({ messageIds: [messageId] });
      expect(logs[0]?.state).toBe(state);
      return logs;
    },
    { timeout: 15_000, interval: 25 },
  );
const statesOf = (logs: readonly Log[]): string[] => logs.map((log) => log.state);

describe('client.logs', () => {
  it('tells of a delivery', async () => {
    const { messageId } = await client.publishJSON({ url: `${node.sink.url}/ok`, body: { a: 1 }, label: 'delivered' });
    const logs = await logsWhen(messageId, 'DELIVERED');
    expect(statesOf(logs)).toEqual(['DELIVERED', 'ACTIVE', 'CREATED']);
    expect(logs[0]).toMatchObject({ messageId, url: `${node.sink.url}/ok`, method: 'POST', label: 'delivered' });
    expect(Buffer.from(logs[0]!.body!, 'base64').toString()).toBe('{"a":1}');
    const byLabel = await client.logs({ filter: { label: 'delivered', state: 'DELIVERED' } });
    expect(byLabel.logs.map((log) => log.messageId)).toEqual([messageId]);
  });

  it('tells of retries and of the end', async () => {
    node.sink.answer((call) => ({ status: call.retried === 0 ? 503 : 500, body: 'no' }));
    const { messageId } = await client.publish({
      url: `${node.sink.url}/fails`,
      retries: 1,
      retryDelay: '50',
      headers: { 'X-A': 'b' },
    });
    const logs = await logsWhen(messageId, 'FAILED');
    expect(statesOf(logs)).toEqual(['FAILED', 'ERROR', 'ACTIVE', 'RETRY', 'ERROR', 'ACTIVE', 'CREATED']);
    const [failed, , , retry, error] = logs;
    expect(failed).toMatchObject({ responseStatus: 500, responseBody: Buffer.from('no').toString('base64') });
    expect(error).toMatchObject({ responseStatus: 503, error: expect.any(String) as string });
    expect(retry!.nextDeliveryTime).toBeGreaterThan(error!.time);
    expect(retry!.header).toMatchObject({ 'X-A': ['b'] });
  });

  it('tells of a cancel in the spelling that clients know', async () => {
    const { messageId } = await client.publish({ url: `${node.sink.url}/never`, delay: '1d' });
    await client.messages.cancel(messageId);
    expect(statesOf(await logsWhen(messageId, 'CANCELED'))).toEqual(['CANCELED', 'CREATED']);
  });

  it('pages through all of a node’s events with the cursor', async () => {
    node.sink.answer(() => ({}));
    const ids: string[] = [];
    for (let index = 0; index < 6; index++) {
      ids.push((await client.publish({ url: `${node.sink.url}/page`, label: 'page' })).messageId);
    }
    for (const id of ids) await logsWhen(id, 'DELIVERED');
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await client.logs({
        count: 4,
        filter: { label: 'page' },
        ...(cursor === undefined ? {} : { cursor }),
      });
      seen.push(...page.logs.map((log) => `${log.messageId} ${log.state}`));
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(seen).toHaveLength(18);
    expect(new Set(seen).size).toBe(18);
    expect(seen.filter((event) => event.endsWith('DELIVERED'))).toHaveLength(6);
  });

  it('answers the deprecated call as well', async () => {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- older code calls it
    const { events } = await client.events({ count: 1 });
    expect(events).toHaveLength(1);
  });
});
