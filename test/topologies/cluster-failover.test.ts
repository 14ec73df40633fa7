// The data Redis is a Redis Cluster: a master is killed and comes back, is replaced by its replica, or hands its slots over in order. Nothing is
// lost. Nobody killed the node, so nothing may arrive twice.

import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { identify, signal, untilGone } from '../../cluster/system/processes.js';
import { crashScenario, type CrashScenario, report } from '../kit/crash-scenario.js';
import { type ClusterServer, type RedisCluster, startRedisCluster } from '../kit/redis-cluster.js';

vi.setConfig({ testTimeout: 180_000 });

const SCHEDULES = 10;

let dir: string;
let redis: RedisCluster;
let scenario: CrashScenario;
beforeEach(async () => {
  dir = path.join(inject('runDir'), `cluster-${randomBytes(6).toString('hex')}`);
  mkdirSync(dir, { mode: 0o711 });
  redis = await startRedisCluster({ dir, replicas: true, nodeTimeoutMs: 2_000 });
  scenario = await crashScenario({
    CARILLON_REDIS_URL: redis.url,
    CARILLON_REDIS_TIMEOUT_MS: 1_000,
    CARILLON_VISIBILITY_MS: 3_000,
    CARILLON_TOUCH_MS: 1_000,
  });
});
afterEach(async () => {
  await scenario.stop();
  await redis.stop();
  rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
});

/** In the middle: of the three it has neither the roster's slot nor the locks' in every test run, whatever the prefix. */
const master = (): ClusterServer => redis.masters[1] ?? never();
const replica = (): ClusterServer => redis.replicas[1] ?? never();

const WAYS: readonly [string, () => Promise<void>][] = [
  [
    'is killed and started again before anybody replaces it',
    async () => {
      await kill(master());
      await master().start();
    },
  ],
  [
    'is killed, and its replica takes its place',
    async () => {
      await kill(master());
      await untilMaster(replica());
      await master().start();
    },
  ],
  [
    'freezes, its connections open, and its replica takes its place',
    async () => {
      const frozen = identify(master().pid) ?? never();
      signal(frozen, 'SIGSTOP');
      await untilMaster(replica());
      await delay(3_000);
      signal(frozen, 'SIGCONT');
    },
  ],
  [
    'hands its slots to its replica in order',
    async () => {
      await asked(replica(), (client) => client.call('cluster', 'failover'));
      await untilMaster(replica());
    },
  ],
];

async function kill(server: ClusterServer): Promise<void> {
  const killed = identify(server.pid) ?? never();
  signal(killed, 'SIGKILL');
  await untilGone(killed, 5_000);
}

async function untilMaster(server: ClusterServer): Promise<void> {
  await vi.waitFor(
    () => asked(server, async (client) => expect(await client.info('replication')).toContain('role:master')),
    { timeout: 30_000, interval: 50 },
  );
}

async function asked<Result>(server: ClusterServer, ask: (client: Redis) => Promise<Result>): Promise<Result> {
  const client = new Redis(server.url);
  try {
    return await ask(client);
  } finally {
    client.disconnect();
  }
}

function never(): never {
  throw new Error('no such server');
}

describe.each(WAYS)('when a master of the Redis Cluster %s', (name, interrupt) => {
  it('nothing is lost and nothing arrives twice (report 25)', async () => {
    await scenario.everySecond(SCHEDULES, 'tick', '/tick?hold=100');
    const trickle = scenario.trickle(['/now', '/held?hold=700', '/later 2s', '/failing?status=500&fails=1'], 20);
    await delay(2_500);
    const startedAtMs = Date.now();
    await interrupt();
    const awayMs = Date.now() - startedAtMs;
    await delay(2_500);
    await trickle.stop();
    await scenario.stopSeconds();
    const settledMs = await scenario.settled({ timeoutMs: 90_000 });
    const verdict = await scenario.judge();
    report(`a master ${name}`, { ...verdict, awayMs, settledMs, trickle: trickle.counts });
    expect(verdict.faults).toEqual([]);
    expect(verdict.secondDeliveries).toBe(0);
    expect(trickle.counts).toMatchObject({ unavailable: 0, broken: 0 });
  });
});
