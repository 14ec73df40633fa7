// Gives shards new epochs: granted by PostgreSQL, then installed in Redis. Reads nothing of what a shard holds.

import type { Logger } from 'pino';
import { CarillonError } from '../domain/errors.js';
import type { Abandoned } from '../postgres/shards/epochs.js';
import type { Fence, ShardQueue } from '../redis/shard-queue.js';

/** PostgreSQL's side: who was granted what. */
export interface EpochAuthority {
  /** May leave out shards that a transaction of their former owner holds on to. */
  grant(node: string, shards: readonly number[]): Promise<Map<number, number>>;
  renew(node: string, held: ReadonlyMap<number, number>): Promise<Map<number, number>>;
  supersede(node: string, stored: ReadonlyMap<number, number>): Promise<Map<number, number>>;
  superseded(held: ReadonlyMap<number, number>): Promise<number[]>;
  /** Ends transactions of these shards' former owners that stand still; returns what they were. */
  endAbandoned(shards: readonly number[]): Promise<readonly Abandoned[]>;
}

export interface Fenced {
  /** The epochs that hold now, by shard. One that is missing has another owner. */
  readonly epochs: ReadonlyMap<number, number>;
  /** Shards whose queue has to be filled again from PostgreSQL. */
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
   * Takes shards over, whoever had them: one statement for all, one fence for each. A shard that is missing from the answer is to be tried
   * again: a transaction of its former owner holds on to it, and is ended here if it stands still.
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
      const what = ended ? 'was ended' : 'could not be ended, and ends by its limit';
      this.#log.warn({ shards, connection: name, idleMs }, `a transaction of a former owner stood still: it ${what}`);
    }
  }

  /** New epochs for shards that are this node's in PostgreSQL, under these epochs or later ones. */
  async renew(held: ReadonlyMap<number, number>): Promise<Fenced> {
    return this.#install(await this.#authority.renew(this.#node, held));
  }

  /** Shards whose epoch in PostgreSQL is later than the one they are held by: another node, or an answer that was lost. */
  superseded(held: ReadonlyMap<number, number>): Promise<number[]> {
    return this.#authority.superseded(held);
  }

  /**
   * To be filled again are shards whose state was not there, was written in another run of Redis (lua/fence.lua), or was newer than the
   * table, as after a backup of PostgreSQL was restored: these are lifted above what Redis has.
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
    this.#log.warn({ shards: superseded.size }, 'Redis had newer epochs than PostgreSQL: was a backup restored?');
    await this.#fenceEach(superseded, true, (shard, fence) => {
      if (!fence.installed) return;
      epochs.set(shard, superseded.get(shard) ?? 0);
      lost.add(shard);
    });
    return { epochs, lost };
  }

  /**
   * Gives the shards that could not be reached, as while a master of several is away. Throws when that is so for all, or for any that has to
   * be filled again: that is not to be forgotten.
   */
  async #fenceEach(
    epochs: ReadonlyMap<number, number>,
    refill: boolean,
    told: (shard: number, fence: Fence) => void,
  ): Promise<number[]> {
    const all = [...epochs];
    const unreached: number[] = [];
    const troubles: CarillonError[] = [];
    for (let start = 0; start < all.length; start += FENCES_AT_ONCE) {
      await Promise.all(
        all.slice(start, start + FENCES_AT_ONCE).map(async ([shard, epoch]) => {
          try {
            told(shard, await this.#queue.fence(shard, epoch, refill));
          } catch (error) {
            if (!(error instanceof CarillonError)) throw error;
            troubles.push(error);
            unreached.push(shard);
          }
        }),
      );
    }
    const [trouble] = troubles;
    if (trouble !== undefined && (refill || troubles.length === all.length)) throw trouble;
    return unreached;
  }
}
