// The locks of shards, on one lock server or on a majority of several: they decide which node may try to own a shard.
// They guard nothing; epochs do.
//
// This file is the only one that knows the lock package. Our scripts replace its scripts: a server that restarted empty
// waits for a lease before it grants locks, lost keys are created again, and releasing a missing lock is no error. The
// package does not retry, its calculation of expiry (by the wall clock) is not used, and neither is its automatic
// extension.
//
// There is one lock for each shard. Locks that were acquired together form a group with one value: a heartbeat costs
// one script for each group and server, whatever the number of shards. A group can be split, because its value stays
// the same.

import type { Cluster, Redis } from 'ioredis';
import { ExecutionError, Lock, default as Redlock, ResourceLockedError } from 'redlock';
import type { ProcessTime } from '../domain/clock.js';
import { Script } from '../redis/script.js';

export interface ShardLockSettings {
  /**
   * Prefix of each key, e.g. `carillon:{locks}:`; with braces, so that all keys are in one slot where the data Redis is
   * a cluster.
   */
  readonly keyPrefix: string;
  /** How long a lock is valid unless extended. */
  readonly leaseMs: number;
}

interface Group {
  lock: Lock;
  shards: readonly number[];
  /** When the last request that acquired or extended it was sent: the lease counts from then. */
  sinceMs: number;
}

/** The rates of the lock servers' clocks and ours may differ by this much. */
const DRIFT = 0.01;
const DRIFT_MS = 2;
/** Trust ends this fraction of a lease before the lock expires, so that work started in trust has time to arrive. */
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
  #unansweredSinceMs: number | null = null;
  /**
   * Lock operations run one at a time: an extension in progress would create keys again that a release just removed.
   */
  #turn: Promise<unknown> = Promise.resolve();

  /**
   * Takes one client, or three and more of independent servers. They must have a command timeout and no offline queue.
   */
  constructor(clients: readonly (Redis | Cluster)[], settings: ShardLockSettings, time: ProcessTime) {
    this.#clients = clients;
    this.#settings = settings;
    this.#time = time;
    this.#redlock = new Redlock(
      // The package's type is for older Redis clients; it calls only evalsha and eval.
      clients as Iterable<Redis>,
      { retryCount: 0, driftFactor: DRIFT },
      {
        acquireScript: () => scripts.acquire.source,
        extendScript: () => scripts.extend.source,
        releaseScript: () => scripts.release.source,
      },
    );
  }

  /** Returns the shards whose locks this node has and that have not expired. */
  locked(): number[] {
    const nowMs = this.#time.monotonicMs();
    return this.#groups.flatMap((group) => (this.#endMs(group) > nowMs ? group.shards : []));
  }

  /** Time since the oldest of the leases was confirmed, in milliseconds; 0 without any. */
  get oldestMs(): number {
    const sinceMs = Math.min(...this.#groups.map((group) => group.sinceMs));
    return Number.isFinite(sinceMs) ? this.#time.monotonicMs() - sinceMs : 0;
  }

  /** Returns whether the shard may be worked on; called before each claim. Trust ends a little before the lock does. */
  isTrusted(shard: number): boolean {
    return this.#time.monotonicMs() < (this.#trustedUntilMs.get(shard) ?? -Infinity);
  }

  /** For how long no majority of the servers has answered; 0 when one answered at the last try. */
  get troubleMs(): number {
    return this.#unansweredSinceMs === null ? 0 : this.#time.monotonicMs() - this.#unansweredSinceMs;
  }

  /** Sends a request without effect to the servers, to learn whether a majority answers again. Does not fail. */
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

  /**
   * Tries to acquire locks. Returns those that were acquired, without locks that another node has or that no majority
   * granted. Does not fail.
   */
  acquire(shards: readonly number[]): Promise<number[]> {
    return this.#inTurn(async () => {
      if (await this.#acquireGroup(shards)) return [...shards];
      const acquired: number[] = [];
      for (const small of chunks(shards, SMALL_GROUP)) {
        if (small.length < shards.length && (await this.#acquireGroup(small))) acquired.push(...small);
        else if (small.length > 1) {
          const won = await Promise.all(small.map((shard) => this.#acquireGroup([shard])));
          acquired.push(...small.filter((_, index) => won[index]));
        }
      }
      return acquired;
    });
  }

  /**
   * Extends the locks that were not confirmed within the last `freshMs`. Returns the shards that were lost since the
   * last call: another node has the lock, or it expired before a majority could be reached. A server that cannot be
   * reached causes no loss until then. Does not fail.
   */
  extend(freshMs = 0): Promise<number[]> {
    return this.#inTurn(async () => {
      const before = this.#groups;
      const sinceMs = this.#time.monotonicMs() - freshMs;
      const remaining = await Promise.all(
        before.map((group) => (group.sinceMs > sinceMs ? Promise.resolve([group]) : this.#extendGroup(group))),
      );
      const nowMs = this.#time.monotonicMs();
      this.#groups = remaining.flat().filter((group) => this.#endMs(group) > nowMs);
      const locked = new Set(this.#groups.flatMap(({ shards }) => shards));
      const lost = before.flatMap(({ shards }) => shards.filter((shard) => !locked.has(shard)));
      for (const shard of lost) this.#trustedUntilMs.delete(shard);
      return lost;
    });
  }

  /** Releases the locks that this node has. On a server that cannot be reached the lock expires. Does not fail. */
  release(shards: readonly number[]): Promise<void> {
    return this.#inTurn(async () => {
      const leaving = new Set(shards);
      for (const shard of shards) this.#trustedUntilMs.delete(shard);
      const released: Lock[] = [];
      this.#groups = this.#groups.flatMap((group) => {
        const removed = group.shards.filter((shard) => leaving.has(shard));
        if (removed.length === 0) return [group];
        released.push(this.#lockOf(group.lock.value, removed));
        const left = group.shards.filter((shard) => !leaving.has(shard));
        return left.length === 0 ? [] : [{ ...group, shards: left, lock: this.#lockOf(group.lock.value, left) }];
      });
      await Promise.all(released.map((lock) => this.#redlock.release(lock).catch(() => undefined)));
    });
  }

  /** Lets empty lock servers grant locks at once, for a cluster in which PostgreSQL never granted a shard. */
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
      // The answers arrived after the locks had expired.
      await this.#redlock.release(lock).catch(() => undefined);
      return false;
    }
    this.#groups.push(group);
    this.#trust(group);
    return true;
  }

  /**
   * Returns what is left of the group: the group itself when it was extended or may still be, its parts when another
   * node has one of its locks.
   */
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

  /**
   * Returns a lock of the package for some of a group's shards. Its expiry is not used; the far future prevents the
   * package from checking it.
   */
  #lockOf(value: string, shards: readonly number[]): Lock {
    return new Lock(this.#redlock, this.#keysOf(shards), value, [], Number.MAX_SAFE_INTEGER);
  }

  #keysOf(shards: readonly number[]): string[] {
    return shards.map((shard) => `${this.#settings.keyPrefix}lease:${shard}`);
  }

  #answered(): void {
    this.#unansweredSinceMs = null;
  }

  /** Returns whether the servers refused. A refusal is an answer too; any other error may be transient. */
  async #isRefused(error: unknown): Promise<boolean> {
    const refused = await isRefused(error);
    if (refused) this.#answered();
    else this.#unansweredSinceMs ??= this.#time.monotonicMs();
    return refused;
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }
}

/** Returns whether a majority of the servers answered that another node has a lock. */
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
