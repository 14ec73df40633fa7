// The locks of shards, on one lock server or on a majority of several: who may try to own a shard. They guard nothing; epochs do.
//
// All that is to be known about the lock package stays in this file. Its scripts are replaced by ours: a server that restarted empty
// waits for a lease before it hands out locks, lost keys are made again, and releasing what is gone is no fault. It retries
// nothing, its own idea of expiry (by the wall clock) is not asked, and its automatic extension is not used.
//
// One lock for each shard, held in groups that were taken together and have one value: a heartbeat costs one script for each group and
// server, whatever the number of shards. A group can be split, because its value stays the same.

import type { Cluster, Redis } from 'ioredis';
import { ExecutionError, Lock, default as Redlock, ResourceLockedError } from 'redlock';
import type { ProcessTime } from '../domain/clock.js';
import { Script } from '../redis/script.js';

export interface ShardLockSettings {
  /** First part of each key, e.g. `carillon:{locks}:`; with braces, so that all lie in one slot where the data Redis is a cluster. */
  readonly keyPrefix: string;
  /** How long a lock holds unless extended. */
  readonly leaseMs: number;
}

interface Group {
  lock: Lock;
  shards: readonly number[];
  /** When the last request that made it or extended it was sent: the lease counts from there. */
  sinceMs: number;
}

/** Lock servers' clocks and ours may differ in pace by so much. */
const DRIFT = 0.01;
const DRIFT_MS = 2;
/** Trust ends by so much of a lease before the lock does: what was begun in trust has time to arrive. */
const MARGIN = 0.1;
/** Shards that are tried together after a larger group was refused. */
const SMALL_GROUP = 16;

const scripts = {
  acquire: new Script('lock-acquire'),
  extend: new Script('lock-extend'),
  release: new Script('lock-release'),
};

export class ShardLocks {
  readonly #redlock: Redlock;
  readonly #clients: readonly (Redis | Cluster)[];
  readonly #settings: ShardLockSettings;
  readonly #time: ProcessTime;
  #groups: Group[] = [];
  readonly #trustedUntilMs = new Map<number, number>();
  /** Since when no majority of the servers has answered. */
  #troubleSinceMs: number | null = null;
  /** Lock operations go one at a time: an extension on its way would make keys again that a release just removed. */
  #turn: Promise<unknown> = Promise.resolve();

  /** One client, or three and more of independent servers. They must have a command timeout and no offline queue. */
  constructor(clients: readonly (Redis | Cluster)[], settings: ShardLockSettings, time: ProcessTime) {
    this.#clients = clients;
    this.#settings = settings;
    this.#time = time;
    this.#redlock = new Redlock(
      // The package's type knows the Redis clients of its day; it calls nothing but evalsha and eval.
      clients as Iterable<Redis>,
      { retryCount: 0, driftFactor: DRIFT },
      {
        acquireScript: () => scripts.acquire.source,
        extendScript: () => scripts.extend.source,
        releaseScript: () => scripts.release.source,
      },
    );
  }

  /** Shards whose locks are held and have not lapsed. */
  locked(): number[] {
    const nowMs = this.#time.monotonicMs();
    return this.#groups.flatMap((group) => (this.#endMs(group) > nowMs ? group.shards : []));
  }

  /** Time since the oldest of the leases was confirmed, in milliseconds; 0 without any. */
  get oldestMs(): number {
    const sinceMs = Math.min(...this.#groups.map((group) => group.sinceMs));
    return Number.isFinite(sinceMs) ? this.#time.monotonicMs() - sinceMs : 0;
  }

  /** Whether the shard may be worked on: asked before each claim. Ends a little before the lock does. */
  isTrusted(shard: number): boolean {
    return this.#time.monotonicMs() < (this.#trustedUntilMs.get(shard) ?? -Infinity);
  }

  /** For how long no majority of the servers has answered; 0 when one did at the last try. */
  get troubleMs(): number {
    return this.#troubleSinceMs === null ? 0 : this.#time.monotonicMs() - this.#troubleSinceMs;
  }

  /** Asks the servers for nothing, to learn whether a majority answers again. Does not fail. */
  probe(): Promise<void> {
    return this.#inTurn(async () => {
      try {
        await this.#redlock.release(this.#lockOf('nobody', [0]));
        this.#answered();
      } catch (error) {
        await this.#isRefused(error);
      }
    });
  }

  /** Tries to take locks. Gives those that were taken; a lock that somebody has, or that no majority gave, is not. Does not fail. */
  acquire(shards: readonly number[]): Promise<number[]> {
    return this.#inTurn(async () => {
      if (await this.#acquireGroup(shards)) return [...shards];
      const acquired: number[] = [];
      for (const few of chunks(shards, SMALL_GROUP)) {
        if (few.length < shards.length && (await this.#acquireGroup(few))) acquired.push(...few);
        else if (few.length > 1) {
          const won = await Promise.all(few.map((shard) => this.#acquireGroup([shard])));
          acquired.push(...few.filter((_, index) => won[index]));
        }
      }
      return acquired;
    });
  }

  /**
   * Extends what is held, save what was confirmed less than `freshMs` ago. Gives the shards that were lost since the last call: somebody else
   * has the lock, or it lapsed before a majority could be reached. A server that cannot be reached is no loss until then. Does not fail.
   */
  extend(freshMs = 0): Promise<number[]> {
    return this.#inTurn(async () => {
      const before = this.#groups;
      const sinceMs = this.#time.monotonicMs() - freshMs;
      const kept = await Promise.all(
        before.map((group) => (group.sinceMs > sinceMs ? Promise.resolve([group]) : this.#extendGroup(group))),
      );
      const nowMs = this.#time.monotonicMs();
      this.#groups = kept.flat().filter((group) => this.#endMs(group) > nowMs);
      const locked = new Set(this.#groups.flatMap(({ shards }) => shards));
      const lost = before.flatMap(({ shards }) => shards.filter((shard) => !locked.has(shard)));
      for (const shard of lost) this.#trustedUntilMs.delete(shard);
      return lost;
    });
  }

  /** Gives locks up, where they are held. What cannot be told to a server lapses there. Does not fail. */
  release(shards: readonly number[]): Promise<void> {
    return this.#inTurn(async () => {
      const going = new Set(shards);
      for (const shard of shards) this.#trustedUntilMs.delete(shard);
      const released: Lock[] = [];
      this.#groups = this.#groups.flatMap((group) => {
        const gone = group.shards.filter((shard) => going.has(shard));
        if (gone.length === 0) return [group];
        released.push(this.#lockOf(group.lock.value, gone));
        const left = group.shards.filter((shard) => !going.has(shard));
        return left.length === 0 ? [] : [{ ...group, shards: left, lock: this.#lockOf(group.lock.value, left) }];
      });
      await Promise.all(released.map((lock) => this.#redlock.release(lock).catch(() => undefined)));
    });
  }

  /** For a cluster whose table says that no shard was ever granted: its empty lock servers need not wait. */
  async bootstrapEmptyServers(): Promise<void> {
    await Promise.allSettled(this.#clients.map((client) => client.set(`${this.#settings.keyPrefix}boot`, '0', 'NX')));
  }

  async #acquireGroup(shards: readonly number[]): Promise<boolean> {
    if (shards.length === 0) return false;
    const sinceMs = this.#time.monotonicMs();
    let lock: Lock;
    try {
      lock = await this.#redlock.acquire(this.#keysOf(shards), this.#settings.leaseMs);
      this.#answered();
    } catch (error) {
      await this.#isRefused(error);
      return false;
    }
    const group = { lock, shards, sinceMs };
    if (this.#trustEndMs(group) <= this.#time.monotonicMs()) {
      // The answers came when the locks had lapsed already.
      await this.#redlock.release(lock).catch(() => undefined);
      return false;
    }
    this.#groups.push(group);
    this.#trust(group);
    return true;
  }

  /** Gives what is left of the group: itself when it was extended or may still be, its parts when one of its locks is somebody else's. */
  async #extendGroup(group: Group): Promise<Group[]> {
    const sinceMs = this.#time.monotonicMs();
    try {
      const lock = await this.#redlock.extend(this.#lockOf(group.lock.value, group.shards), this.#settings.leaseMs);
      this.#answered();
      const extended = { lock, shards: group.shards, sinceMs };
      this.#trust(extended);
      return [extended];
    } catch (error) {
      if (!(await this.#isRefused(error))) return [group];
    }
    if (group.shards.length === 1) return [];
    const singles = group.shards.map((shard) => ({
      ...group,
      shards: [shard],
      lock: this.#lockOf(group.lock.value, [shard]),
    }));
    return (await Promise.all(singles.map((single) => this.#extendGroup(single)))).flat();
  }

  #trust(group: Group): void {
    for (const shard of group.shards) this.#trustedUntilMs.set(shard, this.#trustEndMs(group));
  }

  #endMs({ sinceMs }: Pick<Group, 'sinceMs'>): number {
    return sinceMs + this.#settings.leaseMs * (1 - DRIFT) - DRIFT_MS;
  }

  #trustEndMs(group: Pick<Group, 'sinceMs'>): number {
    return this.#endMs(group) - this.#settings.leaseMs * MARGIN;
  }

  /** A lock of the package for some of a group's shards. Its expiry is never asked: the far future keeps the package from judging it. */
  #lockOf(value: string, shards: readonly number[]): Lock {
    return new Lock(this.#redlock, this.#keysOf(shards), value, [], Number.MAX_SAFE_INTEGER);
  }

  #keysOf(shards: readonly number[]): string[] {
    return shards.map((shard) => `${this.#settings.keyPrefix}lease:${shard}`);
  }

  #answered(): void {
    this.#troubleSinceMs = null;
  }

  /** A refusal is an answer too; anything else is trouble that may pass. */
  async #isRefused(error: unknown): Promise<boolean> {
    const refused = await isRefused(error);
    if (refused) this.#answered();
    else this.#troubleSinceMs ??= this.#time.monotonicMs();
    return refused;
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }
}

/** Whether a majority of the servers said that somebody else has a lock. */
async function isRefused(error: unknown): Promise<boolean> {
  if (!(error instanceof ExecutionError)) return false;
  const stats = await error.attempts.at(-1);
  if (stats === undefined) return false;
  const refusals = [...stats.votesAgainst.values()].filter((vote) => vote instanceof ResourceLockedError);
  return refusals.length >= stats.quorumSize;
}

function chunks<Item>(items: readonly Item[], size: number): Item[][] {
  const parts: Item[][] = [];
  for (let start = 0; start < items.length; start += size) parts.push(items.slice(start, start + size));
  return parts;
}
