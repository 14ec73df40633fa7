// The locks alone, on three simulated lock servers that are killed, frozen, restarted empty and flushed: nobody trusts what another trusts.

import { describe, expect, it } from 'vitest';
import { ShardLocks } from '../../src/membership/shard-locks.js';
import { redisClient } from './clients.js';
import { Link } from './link.js';
import { Process } from './process.js';
import { RedisServer } from './redis-server.js';
import { installTurns } from './turns.js';
import { World } from './world.js';

const LEASE_MS = 5_000;
const BEAT_MS = 1_000;
const ANSWER_MS = 625;
const SHARDS = [0, 1, 2, 3, 4, 5];
const BOOT_KEY = 'carillon:{locks}:boot';

/** A process that wants all shards at every heartbeat, and keeps what it gets. */
class Greedy {
  readonly process: Process;
  readonly locks: ShardLocks;
  lost = 0;

  constructor(
    world: World,
    id: string,
    servers: readonly RedisServer[],
    pace = 1 + world.random.within(-0.003, 0.003),
  ) {
    this.process = new Process(world, id, pace);
    const { process } = this;
    const troubles = { lostRequest: 0.001, lostAnswer: 0.001, longDelay: 0.02, longDelayMs: 400 };
    const clients = servers.map((server) =>
      redisClient(new Link({ process, server, timeoutMs: ANSWER_MS, troubles }), server),
    );
    this.locks = new ShardLocks(clients, { keyPrefix: 'carillon:{locks}:', leaseMs: LEASE_MS }, process.time);
    world.after(world.random.within(0, BEAT_MS), () => void this.#beat(), process.time);
  }

  async #beat(): Promise<void> {
    this.lost += (await this.locks.extend()).length;
    const held = new Set(this.locks.locked());
    const wanted = SHARDS.filter((shard) => !held.has(shard));
    if (wanted.length > 0) await this.locks.acquire(wanted);
    this.process.time.after(BEAT_MS, () => void this.#beat());
  }
}

class LockWorld {
  readonly world: World;
  readonly servers: readonly RedisServer[];
  readonly greedy: readonly Greedy[];
  overlapMs = 0;

  constructor(seed: number) {
    this.world = new World(seed);
    const { world } = this;
    this.servers = [0, 1, 2].map((n) => new RedisServer(world, `lock-${n}`, 1 + world.random.within(-0.003, 0.003)));
    // These have been there for long.
    for (const server of this.servers) server.put(BOOT_KEY, String(server.timeMs() - 60_000), { id: '' });
    this.greedy = ['a', 'b', 'c'].map((id) => new Greedy(world, id, this.servers));
  }

  async run(durationMs: number): Promise<void> {
    const untilMs = this.world.nowMs + durationMs;
    while (this.world.nowMs < untilMs) {
      const beforeMs = this.world.nowMs;
      const doubled = SHARDS.some((shard) => this.trusting(shard).length > 1);
      if (!(await this.world.step())) return;
      if (doubled) this.overlapMs += this.world.nowMs - beforeMs || 0.001;
    }
  }

  trusting(shard: number): Greedy[] {
    return this.greedy.filter(({ locks }) => locks.isTrusted(shard));
  }

  /** How many shards somebody trusts to have. */
  get covered(): number {
    return SHARDS.filter((shard) => this.trusting(shard).length === 1).length;
  }
}

async function inLockWorld(seed: number, work: (locks: LockWorld) => Promise<void>): Promise<void> {
  const uninstall = installTurns();
  try {
    const locks = new LockWorld(seed);
    await locks.run(3 * BEAT_MS);
    expect(locks.covered, `seed ${seed}`).toBe(SHARDS.length);
    await work(locks);
    expect(locks.overlapMs, `seed ${seed}\n${locks.world.lastLines.join('\n')}`).toBe(0);
  } finally {
    uninstall();
  }
}

const SEEDS = Array.from({ length: 5 }, (_, index) => index + 1);

/** A process's clock and those of the servers differ by so much in a second, at most: what the drift allowance is for. */
const MOST_DRIFT = 0.0098;

it.each(SEEDS)(
  'a process whose clock is slow lets its locks go before the servers do (issue 12, seed %i)',
  async (seed) => {
    const uninstall = installTurns();
    try {
      const world = new World(seed);
      const server = new RedisServer(world, 'lock');
      server.put(BOOT_KEY, String(server.timeMs() - 60_000), { id: '' });
      const { process, locks } = new Greedy(world, 'slow', [server], 1 - MOST_DRIFT);
      while (locks.locked().length < SHARDS.length) await world.step();
      // From now on nothing comes through.
      server.freeze(10 * LEASE_MS);
      const isLocked = (shard: number): boolean => server.get(`carillon:{locks}:lease:${shard}`) !== null;
      let endedAtMs = Infinity;
      for (let ms = 1; ms <= 2 * LEASE_MS; ms++) {
        world.after(
          ms,
          () => {
            const held = locks.locked();
            if (held.length === 0) endedAtMs = Math.min(endedAtMs, world.nowMs);
            expect(held.filter((shard) => !isLocked(shard))).toEqual([]);
            expect(SHARDS.filter((shard) => locks.isTrusted(shard) && !isLocked(shard))).toEqual([]);
          },
          process.time,
        );
      }
      const untilMs = world.nowMs + 2 * LEASE_MS;
      while (world.nowMs < untilMs) await world.step();
      // It had them for nearly the whole lease.
      expect(endedAtMs - (untilMs - 2 * LEASE_MS)).toBeGreaterThan(0.7 * LEASE_MS);
    } finally {
      uninstall();
    }
  },
);

describe('locks on three servers', { timeout: 120_000 }, () => {
  it.each(SEEDS)('are kept when one server is killed (seed %i)', (seed) =>
    inLockWorld(seed, async (locks) => {
      locks.servers[seed % 3]?.kill();
      await locks.run(4 * LEASE_MS);
      expect(locks.covered).toBe(SHARDS.length);
      expect(locks.greedy.reduce((sum, { lost }) => sum + lost, 0)).toBe(0);
    }),
  );

  it.each(SEEDS)('are kept when one server is frozen and thaws (seed %i)', (seed) =>
    inLockWorld(seed, async (locks) => {
      locks.servers[seed % 3]?.freeze(3 * LEASE_MS);
      await locks.run(5 * LEASE_MS);
      expect(locks.covered).toBe(SHARDS.length);
      expect(locks.greedy.reduce((sum, { lost }) => sum + lost, 0)).toBe(0);
    }),
  );

  it.each(SEEDS)('end before others get them when two servers are frozen (seed %i)', (seed) =>
    inLockWorld(seed, async (locks) => {
      locks.servers[0]?.freeze(2 * LEASE_MS);
      locks.servers[1]?.freeze(2 * LEASE_MS);
      await locks.run(LEASE_MS + BEAT_MS);
      expect(locks.covered).toBe(0);
      await locks.run(2 * LEASE_MS + 2 * BEAT_MS);
      expect(locks.covered).toBe(SHARDS.length);
    }),
  );

  it.each(SEEDS)(
    'are made again by who holds them when the servers restart empty, one after another (seed %i)',
    (seed) =>
      inLockWorld(seed, async (locks) => {
        for (const server of locks.servers) {
          server.restart(locks.world.random.within(50, 1_000), null);
          await locks.run(3 * BEAT_MS);
        }
        await locks.run(2 * LEASE_MS);
        expect(locks.covered).toBe(SHARDS.length);
        expect(locks.greedy.reduce((sum, { lost }) => sum + lost, 0)).toBe(0);
      }),
  );

  it.each(SEEDS)('are made again when all servers are flushed at once (seed %i)', (seed) =>
    inLockWorld(seed, async (locks) => {
      for (const server of locks.servers) server.flush();
      await locks.run(3 * LEASE_MS);
      expect(locks.covered).toBe(SHARDS.length);
      expect(locks.greedy.reduce((sum, { lost }) => sum + lost, 0)).toBe(0);
    }),
  );

  it.each(SEEDS)('are handed out by emptied servers only when a lease has passed (seed %i)', (seed) =>
    inLockWorld(seed, async (locks) => {
      const { world } = locks;
      // Their holder freezes, so that it neither extends nor gives up what the servers forget.
      const holders = new Set(SHARDS.flatMap((shard) => locks.trusting(shard)));
      for (const { process } of holders) process.freeze(4 * LEASE_MS);
      await locks.run(10);
      const emptiedAtMs = world.nowMs;
      for (const server of locks.servers) server.flush();
      const isAnew = (): boolean =>
        SHARDS.some((shard) => locks.trusting(shard).some((greedy) => !holders.has(greedy)));
      while (!isAnew() && world.nowMs < emptiedAtMs + 3 * LEASE_MS) await locks.run(50);
      expect(isAnew() || holders.size === locks.greedy.length).toBe(true);
      expect(world.nowMs - emptiedAtMs).toBeGreaterThan(LEASE_MS);
    }),
  );

  it.each(SEEDS)('overlap for no moment whatever happens to servers and processes (seed %i)', (seed) =>
    inLockWorld(seed, async (locks) => {
      const { random } = locks.world;
      for (let round = 0; round < 12; round++) {
        const server = random.pickIfAny(locks.servers);
        const durationMs = random.within(100, 2 * LEASE_MS);
        const what = random.between(0, 3);
        if (what === 0) server?.freeze(durationMs);
        else if (what === 1) server?.restart(durationMs, random.happens(0.5) ? 0 : null);
        else if (what === 2) server?.flush();
        else random.pickIfAny(locks.greedy)?.process.freeze(durationMs);
        await locks.run(random.within(100, LEASE_MS));
      }
    }),
  );
});
