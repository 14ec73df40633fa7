// A node is killed while somebody watches another: it turns suspect within a second, and its shards are shown until others have them.

import { afterEach, expect, it } from 'vitest';
import type { Picture } from '../../src/admin/protocol.js';
import { AdminClient } from '../kit/admin-client.js';
import { nodeProcess } from '../kit/test-node-process.js';
import { startTestNode, TEST_ADMIN_TOKEN, TEST_SHARDS } from '../kit/node.js';

const ended: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end();
});

it('a kill shows within a second, and then every shard on its way to the others', async () => {
  const times = { CARILLON_JOIN_GRACE_MS: 100, CARILLON_LEASE_MS: 3_000, CARILLON_HEARTBEAT_MS: 500 };
  const first = await startTestNode({ ...times, CARILLON_NODE_NAME: 'first' });
  ended.push(() => first.stop());
  // The port is the process's own.
  const { CARILLON_PORT: _port, ...settings } = first.config;
  const victim = await nodeProcess({ ...settings, CARILLON_NODE_NAME: 'victim' });
  ended.push(() => victim.stop());
  await victim.start();
  const client = new AdminClient(first.url, { token: TEST_ADMIN_TOKEN });
  ended.push(() => client.close());
  const of = ({ nodes }: Picture) => nodes.find(({ name }) => name === 'victim');
  const before = await client.until('shared shards', (now) => {
    return of(now)?.shards === TEST_SHARDS / 2 && of(now)?.load !== null && now.nodes.every(isActive);
  });
  const { id } = of(before)!;
  const killedAtMs = performance.now();
  await victim.kill9();
  await client.until('a suspect', (now) => of(now)?.state === 'suspect');
  // Silence of 900 ms from its last word, and the look at it every quarter of a second.
  expect(performance.now() - killedAtMs).toBeLessThan(1_500);
  await client.until('its lapse', ({ events }) => events.some((event) => event.kind === 'lapsed' && event.node === id));
  const after = await client.until('all shards elsewhere', ({ shards }) =>
    shards.every(({ state, owner }) => state === 'owned' && owner !== id),
  );
  expect(after.nodes.map(({ name }) => name)).toEqual(['first']);
  const told = client.messages.flatMap((message) => (message.type === 'delta' ? (message.shards ?? []) : []));
  expect(told.filter(({ state }) => state === 'orphaned').length).toBeGreaterThanOrEqual(TEST_SHARDS / 2);
  await client.until('who had them before', ({ events }) =>
    events.some((event) => event.kind === 'moved' && event.from === id),
  );
  expect(client.gaps).toBe(0);
}, 60_000);

const isActive = ({ state }: { state: string }): boolean => state === 'active';
