// The locks of shards on three real lock servers, which are killed, frozen, emptied and restarted.

import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { processTime } from '../../../src/time/process-time.js';
import { ShardLocks } from '../../../src/membership/shard-locks.js';
import { ownRedis, type OwnStore } from '../../kit/stores.js';

const LEASE_MS = 1_000;
const SHARDS = [0, 1, 2, 3];

let servers: OwnStore[];
const clients: Redis[] = [];

/** A lock holder with connections of its own. */
async function holder(leaseMs = LEASE_MS): Promise<ShardLocks> {
  const connections = servers.map(
    ({ url }) =>
      new Redis(url, {
        lazyConnect: true,
        enableOfflineQueue: false,
        autoResendUnfulfilledCommands: false,
        maxRetriesPerRequest: 0,
        commandTimeout: 150,
        connectTimeout: 150,
        retryStrategy: () => 50,
      }),
  );
  for (const client of connections) client.on('error', () => undefined);
  clients.push(...connections);
  // A server that is unavailable is tried again in the background.
  await Promise.allSettled(connections.map((client) => client.connect()));
  return new ShardLocks(connections, { keyPrefix: 'test:{locks}:', leaseMs }, processTime);
}

const trusted = (locks: ShardLocks): number[] => SHARDS.filter((shard) => locks.isTrusted(shard));

beforeEach(async () => {
  servers = await Promise.all([ownRedis(), ownRedis(), ownRedis()]);
  await (await holder()).bootstrapEmptyServers();
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect();
  for (const server of servers) server.resume();
  await Promise.all(servers.map((server) => server.stop()));
});

describe('locks on three servers', () => {
  it('are one holder’s at a time, shard by shard, and free when they are released', async () => {
    const [one, other] = [await holder(), await holder()];
    expect(await one.acquire([0, 1])).toEqual([0, 1]);
    expect(await other.acquire(SHARDS)).toEqual([2, 3]);
    await one.release([1]);
    expect(one.locked()).toEqual([0]);
    expect(trusted(one)).toEqual([0]);
    expect(await other.acquire([0, 1])).toEqual([1]);
    expect(await other.extend()).toEqual([]);
    expect(trusted(other)).toEqual([1, 2, 3]);
  });

  it('go on with one server killed, and when it comes back', async () => {
    const one = await holder();
    await one.acquire(SHARDS);
    await servers[0]?.kill9();
    expect(await one.extend()).toEqual([]);
    expect(trusted(one)).toEqual(SHARDS);
    expect(await (await holder()).acquire(SHARDS)).toEqual([]);
    await servers[0]?.restart();
    await expect.poll(() => one.extend()).toEqual([]);
    expect(trusted(one)).toEqual(SHARDS);
  });

  it('go on with one server frozen', async () => {
    const one = await holder();
    await one.acquire(SHARDS);
    servers[1]?.pause();
    expect(await one.extend()).toEqual([]);
    expect(trusted(one)).toEqual(SHARDS);
    servers[1]?.resume();
  });

  it('end by the holder’s own time while no majority answers, before the servers forget them', async () => {
    const one = await holder();
    await one.acquire(SHARDS);
    servers[0]?.pause();
    servers[1]?.pause();
    await expect.poll(() => trusted(one), { timeout: 3_000, interval: 5 }).toEqual([]);
    // The server that still answers has them: trust ended first.
    const third = clients[2];
    expect(await third?.exists(...SHARDS.map((shard) => `test:{locks}:lease:${shard}`))).toBe(SHARDS.length);
    await expect.poll(() => one.extend(), { timeout: 3_000 }).toEqual(SHARDS);
    expect(one.locked()).toEqual([]);
  });

  it('stay with their holder when every server is emptied, and nobody else gets one for a lease', async () => {
    const [one, other] = [await holder(), await holder()];
    await one.acquire([0, 1]);
    await Promise.all(clients.slice(0, 3).map((client) => client.flushall()));
    const emptiedAtMs = performance.now();
    // 2 was free all the time, but these servers cannot know it.
    expect(await other.acquire([0, 2])).toEqual([]);
    expect(await one.extend()).toEqual([]);
    expect(trusted(one)).toEqual([0, 1]);
    const heartbeat = async (): Promise<number[]> => {
      expect(await one.extend()).toEqual([]);
      return other.acquire([2]);
    };
    await expect.poll(heartbeat, { timeout: 5_000, interval: 50 }).toEqual([2]);
    expect(performance.now() - emptiedAtMs).toBeGreaterThan(LEASE_MS);
    expect(await other.acquire([0, 1])).toEqual([]);
  });

  it('are not handed out by a majority that restarted empty while their holder trusts them', async () => {
    const one = await holder(3_000);
    await one.acquire(SHARDS);
    await Promise.all(
      servers.slice(0, 2).map(async (server, index) => {
        await clients[index]?.flushall();
        await server.restart();
      }),
    );
    const other = await holder(3_000);
    expect(trusted(one)).toEqual(SHARDS);
    expect(await other.acquire(SHARDS)).toEqual([]);
    await expect.poll(() => one.extend()).toEqual([]);
    expect(trusted(one)).toEqual(SHARDS);
  });

  it('are refused when the answers come later than the lease lasts', async () => {
    const one = await holder(300);
    servers[0]?.pause();
    servers[1]?.pause();
    const acquiring = one.acquire(SHARDS);
    expect(await acquiring).toEqual([]);
    expect(trusted(one)).toEqual([]);
    expect(one.locked()).toEqual([]);
  });
});
