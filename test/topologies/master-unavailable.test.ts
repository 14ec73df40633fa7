// The data Redis is a Redis Cluster without replicas, and one of its masters stops answering: its shards wait for it, the others go on (issue 12, 4).

import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { identify, signal } from '../../cluster/system/processes.js';
import { fromWireMessageId } from '../../src/domain/ids.js';
import { shardOfMessage } from '../../src/domain/shard.js';
import { shardKeys } from '../../src/redis/keys.js';
import { slotRangeOf } from '../../src/redis/slot-of-key.js';
import { crashScenario, type CrashScenario } from '../kit/crash-scenario.js';
import { TEST_SHARDS } from '../kit/node.js';
import { type RedisCluster, startRedisCluster } from '../kit/redis-cluster.js';

vi.setConfig({ testTimeout: 120_000 });

const MASTERS = 3;
const MESSAGES = 90;
const PREFIX = `unavailable-${randomBytes(4).toString('hex')}`;

let dir: string;
let redis: RedisCluster;
let scenario: CrashScenario;
beforeEach(async () => {
  dir = path.join(inject('runDir'), `cluster-${randomBytes(6).toString('hex')}`);
  mkdirSync(dir, { mode: 0o711 });
  redis = await startRedisCluster({ dir, nodeTimeoutMs: 1_000, fullCoverage: false });
  scenario = await crashScenario({
    CARILLON_REDIS_URL: redis.url,
    CARILLON_REDIS_PREFIX: PREFIX,
    CARILLON_REDIS_TIMEOUT_MS: 500,
    CARILLON_VISIBILITY_MS: 3_000,
    CARILLON_TOUCH_MS: 1_000,
  });
});
afterEach(async () => {
  await scenario.stop();
  await redis.stop();
  rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
});

function masterOf(wireId: string): number {
  const id = fromWireMessageId(wireId);
  if (id === null) throw new Error(`${wireId} is no message id`);
  const shard = shardOfMessage(id, TEST_SHARDS);
  return slotRangeOf(shardKeys(PREFIX, shard).state, MASTERS);
}

async function delivered(ids: readonly string[]): Promise<string[]> {
  const calls = await scenario.receiver.calls();
  const arrived = new Set(calls.map(({ messageId }) => messageId));
  return ids.filter((id) => arrived.has(id));
}

describe.each([0, 1, 2])('while master %i is frozen', (frozen) => {
  it('the shards of the others are worked on within a second, its own when it is back, and nothing comes twice', async () => {
    const before = await scenario.publish(MESSAGES, '/before');
    await vi.waitFor(async () => expect(await delivered(before)).toHaveLength(MESSAGES), { timeout: 20_000 });

    const server = redis.masters[frozen];
    const stopped = identify(server?.pid ?? -1);
    if (stopped === undefined) throw new Error('there is no such master');
    signal(stopped, 'SIGSTOP');
    // Longer than a lease, and than the time that a command waits.
    await delay(4_000);
    const meanwhile = await scenario.publish(MESSAGES, '/meanwhile');
    const others = meanwhile.filter((id) => masterOf(id) !== frozen);
    expect(others.length).toBeGreaterThan(MESSAGES / 3);
    await vi.waitFor(async () => expect(await delivered(others)).toHaveLength(others.length), { timeout: 1_000 });

    signal(stopped, 'SIGCONT');
    await scenario.settled({ timeoutMs: 60_000 });
    const verdict = await scenario.judge();
    expect(verdict.faults).toEqual([]);
    expect(verdict.secondDeliveries).toBe(0);
  });
});
