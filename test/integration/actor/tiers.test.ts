// How soon a message is due decides where it waits: each says so, and accepts are counted by it.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { scrape } from '../../kit/figures.js';
import { startTestNode, type TestNode } from '../../kit/node.js';

let node: TestNode;
beforeAll(async () => {
  node = await startTestNode();
});
afterAll(() => node.stop());

async function publish(delay: string, headers: Record<string, string> = {}): Promise<string> {
  const response = await node.call('POST', `/v2/publish/${node.sink.url}/t`, {
    headers: { 'Upstash-Delay': delay, ...headers },
  });
  return ((await response.json()) as { messageId: string }).messageId;
}

it.each([
  ['14m', 'immediate'],
  ['20m', 'hot'],
  ['23h', 'hot'],
  ['25h', 'cold'],
])('a message that is due in %s is %s', async (delay, tier) => {
  const id = await publish(delay);
  expect(await (await node.call('GET', `/v2/messages/${id}`)).json()).toMatchObject({ messageId: id, tier });
});

it('accepts are counted by tier, duplicates are not', async () => {
  const counts = async (): Promise<number[]> => {
    const figures = await scrape(node);
    return ['immediate', 'hot', 'cold'].map((tier) => figures.value('carillon_accepts_by_tier_total', { tier }));
  };
  const before = await counts();
  const key = { 'Carillon-Idempotency-Key': 'once' };
  await publish('1m');
  await publish('2h');
  await publish('30d', key);
  await publish('30d', key);
  const items = ['40d', '50d'].map((delay) => ({ destination: node.sink.url, headers: { 'Upstash-Delay': delay } }));
  await node.call('POST', '/v2/batch', { body: JSON.stringify(items) });
  expect((await counts()).map((count, index) => count - before[index]!)).toEqual([1, 1, 3]);
});

it('how far behind sweeps are is there to be read', async () => {
  const figures = await scrape(node);
  for (const sweep of ['promote', 'rescue']) {
    expect(figures.value('carillon_sweep_behind_seconds', { sweep })).toBeGreaterThanOrEqual(0);
  }
});
