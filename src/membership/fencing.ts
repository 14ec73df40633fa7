// Renews the epochs of shards: PostgreSQL grants them, then they are installed in Redis. Does not read the entries of a
// shard.

import type { Logger } from 'pino';
import { CarillonError } from '../domain/errors.js';
import type { Abandoned } from '../postgres/shards/epochs.js';
import type { Fence, ShardQueue } from '../redis/shard-queue.js';

/** Grants epochs in PostgreSQL. */
export interface EpochAuthority {
  /** May omit shards that a transaction of their former owner has locked. */
  grant(node: string, shards: readonly number[]): Promise<Map<number, number>>;
  renew(node: string, epochs: ReadonlyMap<number, number>): Promise<Map<number, number>>;
  supersede(node: string, stored: ReadonlyMap<number, number>): Promise<Map<number, number>>;
  superseded(epochs: ReadonlyMap<number, number>): Promise<number[]>;
  /** Ends idle transactions of these shards' former owners; returns them. */
  endAbandoned(shards: readonly number[]): Promise<readonly Abandoned[]>;
}

export interface Fenced {
  /** The current epochs by shard. A missing shard has another owner. */
  readonly epochs: ReadonlyMap<number, number>;
  /** Shards whose queue must be refilled from PostgreSQL. */
  readonly lost: ReadonlySet<number>;
}

/** Fences that are sent to Redis before their answers are awaited. */
const FENCES_AT_ONCE = 64;

export class Fencing {
  readonly #authority: EpochAuthority;
  readonly #queue: Pick<ShardQueue, 'fence'>;
  readonly #node: string;
  readonly #log: Logger;

  constructor(parts: { authority: EpochAuthority; queue: Pick<ShardQueue, 'fence'>; node: string; log: Logger }) {
    this.#authority = parts.authority;
    this.#queue = parts.queue;
    this.#node = parts.node;
    this.#log = parts.log;
  }

  /**
   * Acquires shards, whoever owned them: one statement for all, one fence for each. The caller must try again for a
   * shard that is missing from the answer: a transaction of its former owner has it locked, and is ended here if it is
   * idle.
   */
  async acquire(shards: readonly number[]): Promise<Fenced> {
    const granted = await this.#authority.grant(this.#node, shards);
    const missing = shards.filter((shard) => !granted.has(shard));
    const [fenced] = await Promise.all([
      this.#install(granted),
      missing.length === 0 ? undefined : this.#endAbandoned(missing),
    ]);
    return fenced;
  }

  async #endAbandoned(shards: readonly number[]): Promise<void> {
    for (const { name, idleMs, ended } of await this.#authority.endAbandoned(shards)) {
      const result = ended ? 'was ended' : 'could not be ended, and ends at its time limit';
      this.#log.warn(
        { shards, connection: name, idleMs },
        `an idle transaction of a former owner blocks shards: it ${result}`,
      );
    }
  }

  /** Grants and installs new epochs for shards that this node owns in PostgreSQL, under these epochs or later ones. */
  async renew(epochs: ReadonlyMap<number, number>): Promise<Fenced> {
    return this.#install(await this.#authority.renew(this.#node, epochs));
  }

  /**
   * Returns the shards whose epoch in PostgreSQL is later than the one given here: another node owns the shard, or an
   * answer was lost.
   */
  superseded(epochs: ReadonlyMap<number, number>): Promise<number[]> {
    return this.#authority.superseded(epochs);
  }

  /**
   * Installs granted epochs in Redis. A shard must be refilled when its state was missing, was written in another run
   * of Redis (lua/fence.lua), or was newer than PostgreSQL, as after a backup of PostgreSQL was restored. In the last
   * case its epoch is raised above the one in Redis.
   */
  async #install(granted: ReadonlyMap<number, number>): Promise<Fenced> {
    const epochs = new Map(granted);
    const lost = new Set<number>();
    const newer = new Map<number, number>();
    const unreached = await this.#fenceEach(granted, false, (shard, fence) => {
      if (!fence.installed) newer.set(shard, fence.previousEpoch ?? 0);
      else if (fence.completedAtMs === 0) lost.add(shard);
    });
    for (const shard of [...unreached, ...newer.keys()]) epochs.delete(shard);
    if (newer.size === 0) return { epochs, lost };
    const superseded = await this.#authority.supersede(this.#node, newer);
    if (superseded.size === 0) return { epochs, lost };
    this.#log.warn(
      { shards: superseded.size },
      'Redis had newer epochs than PostgreSQL: was a backup of PostgreSQL restored?',
    );
    await this.#fenceEach(superseded, true, (shard, fence) => {
      if (!fence.installed) return;
      epochs.set(shard, superseded.get(shard) ?? 0);
      lost.add(shard);
    });
    return { epochs, lost };
  }

  /**
   * Returns the shards whose Redis server could not be reached, as while one of several masters is unavailable. Throws
   * when none could be reached, and when a shard that must be refilled could not, because the refill must not be
   * forgotten.
   */
  async #fenceEach(
    epochs: ReadonlyMap<number, number>,
    refill: boolean,
    onFence: (shard: number, fence: Fence) => void,
  ): Promise<number[]> {
    const all = [...epochs];
    const unreached: number[] = [];
    const errors: CarillonError[] = [];
    for (let start = 0; start < all.length; start += FENCES_AT_ONCE) {
      await Promise.all(
        all.slice(start, start + FENCES_AT_ONCE).map(async ([shard, epoch]) => {
          try {
            onFence(shard, await this.#queue.fence(shard, epoch, refill));
          } catch (error) {
            if (!(error instanceof CarillonError)) throw error;
            errors.push(error);
            unreached.push(shard);
          }
        }),
      );
    }
    const [first] = errors;
    if (first !== undefined && (refill || errors.length === all.length)) throw first;
    return unreached;
  }
}
