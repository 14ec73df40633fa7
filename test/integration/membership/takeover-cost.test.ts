// What taking shards over costs, counted by the stores themselves: the same for an empty shard and for one with 200,000 schedules.

import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ActorParts } from '../../../src/actor/actor-parts.js';
import { startNode } from '../../../src/compose.js';
import { processTime } from '../../../src/time/process-time.js';
import { configWith } from '../../../src/config.js';
import { Fencing } from '../../../src/membership/fencing.js';
import { ShardHolder } from '../../../src/membership/shard-holder.js';
import { Channels } from '../../../src/redis/channels.js';
import { scheduleEntry, shardKeys } from '../../../src/redis/keys.js';
import { ShardQueue } from '../../../src/redis/shard-queue.js';
import { Subscriptions } from '../../../src/redis/subscriptions.js';
import {
  endAbandoned,
  grantEpochs,
  supersededShards,
  supersedeEpochs,
  renewEpochs,
} from '../../../src/postgres/shards/epochs.js';
import { startTestNode, TEST_SHARDS, type TestNode } from '../../kit/node.js';
import { ownRedis, type OwnStore } from '../../kit/stores.js';

const SCHEDULES = 200_000;
const FULL_SHARD = 9;
/** Each call of a script counts, and each command in it. */
const COMMANDS_OF_A_SHARD = 3;

const log = pino({ level: 'silent' });
let store: OwnStore;
let redis: Redis;
let subscriber: Redis;
let node: TestNode;
let prefix: string;
beforeAll(async () => {
  store = await ownRedis();
  redis = new Redis(store.url);
  subscriber = new Redis(store.url);
  node = await startTestNode({ CARILLON_REDIS_URL: store.url });
  prefix = node.config.CARILLON_REDIS_PREFIX;
  await fill(FULL_SHARD);
});
afterAll(async () => {
  redis.disconnect();
  subscriber.disconnect();
  await node.stop();
  await store.stop();
});

/** Schedules that are due within the day, in PostgreSQL and in Redis. */
async function fill(shard: number): Promise<void> {
  await node.database.text(`
    insert into schedules (tenant_id, id, shard, state, next_fire_at, anchor_at, created_at, updated_at, cron, time_zone, destination, method,
      headers, body, max_retries, timeout_ms, labels, options, misfire, misfire_window_ms, overlap)
    select 1, 'many-' || n, ${shard}, 'active', now() + interval '6 hours', now(), now(), now(), '0 0 * * *', 'UTC', 'http://127.0.0.1:9/',
      'POST', '{}', '', 3, 30000, '{}', '{}', 'once', 86400000, 'allow' from generate_series(1, ${SCHEDULES}) n`);
  const { due, task } = shardKeys(prefix, shard);
  const dueAtMs = Date.now() + 6 * 3_600_000;
  for (let from = 1; from <= SCHEDULES; from += 10_000) {
    const entries = Array.from({ length: 10_000 }, (_, index) => scheduleEntry(1, `many-${from + index}`));
    await redis.zadd(due, ...entries.flatMap((entry) => [dueAtMs, entry]));
    await redis.hset(task, ...entries.flatMap((entry) => [entry, '1']));
  }
}

/** A holder whose actors never claim, so that only the takeover itself is counted. */
function idleHolder(name: string): ShardHolder {
  const { database } = node;
  const queueTimes = { answerMs: 5_000, visibilityMs: 15_000, payloadFreshMs: 5_000, tombstoneMs: 60_000 };
  const queue = new ShardQueue(redis, prefix, queueTimes, { nowMs: Date.now });
  const fencing = new Fencing({
    authority: {
      grant: (id, shards) => grantEpochs(database, id, shards),
      renew: (id, held) => renewEpochs(database, id, held),
      supersede: (id, stored) => supersedeEpochs(database, id, stored),
      superseded: (held) => supersededShards(database, held),
      endAbandoned: (shards) => endAbandoned(database, shards, 500),
    },
    queue,
    node: name,
    log,
  });
  const holder = new ShardHolder({
    fencing,
    sweeper: { add: () => undefined, remove: () => undefined, stop: () => Promise.resolve() },
    channels: new Channels(redis, new Subscriptions(subscriber), prefix),
    time: processTime,
    settings: { shards: TEST_SHARDS, extendVisibilityMs: 60_000, drainMs: 0, handoverMs: 0 },
    log,
  });
  const parts: Partial<Record<keyof ActorParts, unknown>> = {
    queue,
    clock: { nowMs: () => Date.now() },
    time: processTime,
    log,
    semaphore: { acquire: () => ({ granted: Promise.resolve(1), giveUp: () => undefined }), release: () => undefined },
    recorder: { isAvailable: true },
    isTrusted: () => false,
    settings: { claimBatch: 10, idleClaimMs: 60_000 },
  };
  holder.start(parts as unknown as ActorParts);
  return holder;
}

async function commandsOf(work: () => Promise<unknown>): Promise<number> {
  await redis.config('RESETSTAT');
  await work();
  const stats = await redis.info('commandstats');
  const calls = [...stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].filter(([, name]) => !name?.startsWith('config'));
  return calls.reduce((sum, [, , count]) => sum + Number(count), 0);
}

async function scansOfSchedules(): Promise<number> {
  const [row] = await node.database.text<{ scans: string }>(
    `select coalesce(seq_scan, 0) + coalesce(idx_scan, 0) as scans from pg_stat_user_tables where relname = 'schedules'`,
  );
  return Number(row?.scans);
}

/** What a connection read is counted when it has ended. */
async function untilNodesConnectionsEnded(): Promise<void> {
  const open = async (): Promise<number> => {
    const rows = await node.database.text(
      `select from pg_stat_activity where datname = current_database() and application_name like 'carillon %'`,
    );
    return rows.length;
  };
  await expect.poll(open, { timeout: 10_000 }).toBe(0);
}

describe('a takeover', () => {
  it('costs no more than three commands a shard, whatever the shard holds', async () => {
    await node.stopNode();
    const holder = idleHolder('taker-00000001');
    await holder.acquire([0]);
    const one = await commandsOf(() => holder.acquire([1]));
    const full = await commandsOf(() => holder.acquire([FULL_SHARD]));
    const eight = await commandsOf(() => holder.acquire([2, 3, 4, 5, 6, 7, 8, 10]));
    expect(full).toBe(one);
    expect(eight - one).toBeLessThanOrEqual(7 * COMMANDS_OF_A_SHARD);
    await holder.stop();
  });

  it('by a real node reads no schedule', async () => {
    await untilNodesConnectionsEnded();
    const before = await scansOfSchedules();
    expect(before).toBeGreaterThan(0);
    const config = configWith({ ...node.config, CARILLON_PORT: 0, CARILLON_NODE_NAME: 'second' });
    const second = await startNode(config, log);
    await second.stop();
    await untilNodesConnectionsEnded();
    expect(await scansOfSchedules()).toBe(before);
  });
});
