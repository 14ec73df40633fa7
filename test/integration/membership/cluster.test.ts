// Several nodes on the same stores: they share the shards, hand them over in order, and take over from one that is gone.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pino } from 'pino';
import { startNode, type Node } from '../../../src/compose.js';
import { configWith, type Config } from '../../../src/config.js';
import { silentProxy } from '../../kit/silent-proxy.js';
import { startTestNode, TEST_ADMIN_TOKEN, TEST_SHARDS, type TestNode } from '../../kit/node.js';

interface NodeView {
  readonly id: string;
  readonly name: string;
  readonly shards: number;
  readonly draining: boolean;
}

let first: TestNode;
const others: Node[] = [];
beforeEach(async () => {
  first = await startTestNode({ CARILLON_JOIN_GRACE_MS: 100, CARILLON_NODE_NAME: 'first' });
});
afterEach(async () => {
  await Promise.all(others.splice(0).map((node) => node.stop()));
  await first.stop();
});

async function join(name: string, changes: Partial<Config> = {}): Promise<Node> {
  const config = configWith({ ...first.config, CARILLON_PORT: 0, CARILLON_NODE_NAME: name, ...changes });
  const node = await startNode(config, pino({ level: process.env.CARILLON_TEST_LOG ?? 'silent' }));
  others.push(node);
  return node;
}

async function admin<Answer>(path: string, method = 'GET'): Promise<Answer> {
  const response = await fetch(`${first.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${TEST_ADMIN_TOKEN}` },
  });
  return (await response.json()) as Answer;
}

async function shares(): Promise<Record<string, number>> {
  const { nodes } = await admin<{ nodes: NodeView[] }>('/admin/nodes');
  return Object.fromEntries(nodes.map(({ name, shards }) => [name, shards]));
}

const until = { timeout: 10_000, interval: 20 };

describe('a node that hears nothing from PostgreSQL any more (issue 12, entry 10)', () => {
  it('gives its shards up within a lease, though it has nothing to ask', async () => {
    const proxy = await silentProxy(first.config.CARILLON_DATABASE_URL);
    try {
      // A lease of five heartbeats, as by default.
      const times = { CARILLON_LEASE_MS: 4_000, CARILLON_HEARTBEAT_MS: 800, CARILLON_DRAIN_MS: 0 };
      await join('cut off', { ...times, CARILLON_DATABASE_URL: proxy.url });
      await expect.poll(shares, until).toEqual({ first: TEST_SHARDS / 2, 'cut off': TEST_SHARDS / 2 });
      proxy.fallSilent();
      const startedAtMs = performance.now();
      await expect.poll(async () => (await shares()).first, until).toBe(TEST_SHARDS);
      expect(performance.now() - startedAtMs).toBeLessThan(times.CARILLON_LEASE_MS);
    } finally {
      await proxy.close();
    }
  });
});

describe('a cluster', () => {
  it('shares the shards evenly when nodes join, and gives all to those that stay', async () => {
    await join('second');
    await expect.poll(shares, until).toEqual({ first: TEST_SHARDS / 2, second: TEST_SHARDS / 2 });
    const third = await join('third');
    await expect
      .poll(async () => Object.values(await shares()).sort((a, b) => a - b), until)
      .toEqual([5, 5, TEST_SHARDS - 10]);
    await third.stop();
    await expect.poll(shares, until).toEqual({ first: TEST_SHARDS / 2, second: TEST_SHARDS / 2 });
  });

  it('delivers once, and at once, what any node accepts for a shard of any node', async () => {
    // Actors that sleep for so long, and sweeps that come so seldom, have to be woken across nodes.
    const sleepers = { CARILLON_IDLE_CLAIM_MS: 60_000, CARILLON_RESCUE_EVERY_MS: 60_000 };
    await first.restartNode({ CARILLON_JOIN_GRACE_MS: 100, ...sleepers });
    const second = await join('second', sleepers);
    await expect.poll(shares, until).toEqual({ first: TEST_SHARDS / 2, second: TEST_SHARDS / 2 });
    const urls = [first.url, second.url];
    await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const response = await fetch(`${urls[index % 2]}/v2/publish/${first.sink.url}/hit?n=${index}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${first.token}` },
          body: String(index),
        });
        expect(response.status).toBe(200);
      }),
    );
    await expect.poll(() => first.sink.calls.length, until).toBe(60);
    expect(new Set(first.sink.calls.map(({ body }) => body.toString())).size).toBe(60);
  });

  it('takes a shard anew whose epoch was raised late, for a node that had lost the lock by then', async () => {
    await first.restartNode({ CARILLON_TOUCH_MS: 200 });
    const shardOfTable = async (): Promise<unknown> =>
      (await first.database.text(`select epoch, split_part(node, '-', 1) as node from shards where shard = 3`))[0];
    const { epoch } = (await shardOfTable()) as { epoch: number };
    await first.database.text(`update shards set epoch = epoch + 1, node = 'late-00000000' where shard = 3`);
    await expect.poll(shardOfTable, until).toEqual({ epoch: epoch + 2, node: 'first' });
    await expect.poll(shares, until).toEqual({ first: TEST_SHARDS });
  });

  it('drains a node by request, which goes on answering and is not ready', async () => {
    const second = await join('second');
    await expect.poll(shares, until).toEqual({ first: TEST_SHARDS / 2, second: TEST_SHARDS / 2 });
    const { nodes } = await admin<{ nodes: NodeView[] }>('/admin/nodes');
    const id = nodes.find(({ name }) => name === 'second')?.id ?? '';
    await admin(`/admin/nodes/${id}/drain`, 'POST');
    await expect.poll(shares, until).toEqual({ first: TEST_SHARDS, second: 0 });
    expect((await fetch(`${second.url}/readyz`)).status).toBe(503);
    expect((await fetch(`${second.url}/healthz`)).status).toBe(200);
    const { shards } = await admin<{ shards: { node: string | null }[] }>('/admin/shards');
    expect(new Set(shards.map(({ node }) => node))).toEqual(new Set(['first']));
  });
});
