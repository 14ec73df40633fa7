// The locks of shards where the data Redis is a cluster and there are no lock servers. The lock of a shard is in the
// same range of slots as the shard itself, and so, since masters have few runs of slots, usually on the same master. An
// unavailable master affects only the locks of its own shards.

import type { ShardLocks } from './shard-locks.js';

/** The operations on locks that a node uses. */
export type Locks = Pick<ShardLocks, keyof ShardLocks>;

export class ShardLockRanges implements Locks {
  readonly #ranges: readonly Locks[];
  readonly #rangeOf: (shard: number) => number;

  constructor(ranges: readonly Locks[], rangeOf: (shard: number) => number) {
    this.#ranges = ranges;
    this.#rangeOf = rangeOf;
  }

  locked(): number[] {
    return this.#ranges.flatMap((locks) => locks.locked());
  }

  get oldestMs(): number {
    return Math.max(...this.#ranges.map(({ oldestMs }) => oldestMs));
  }

  isTrusted(shard: number): boolean {
    return this.#of(shard)?.isTrusted(shard) ?? false;
  }

  /** The least over all ranges: a node that reaches one master can work on that master's shards. */
  get troubleMs(): number {
    return Math.min(...this.#ranges.map(({ troubleMs }) => troubleMs));
  }

  async probe(): Promise<void> {
    await Promise.all(this.#ranges.filter(({ troubleMs }) => troubleMs > 0).map((locks) => locks.probe()));
  }

  acquire(shards: readonly number[]): Promise<number[]> {
    return this.#each(shards, (locks, own) => locks.acquire(own));
  }

  async extend(freshMs = 0): Promise<number[]> {
    return (await Promise.all(this.#ranges.map((locks) => locks.extend(freshMs)))).flat();
  }

  async release(shards: readonly number[]): Promise<void> {
    await this.#each(shards, async (locks, own) => {
      await locks.release(own);
      return [];
    });
  }

  async bootstrapEmptyServers(): Promise<void> {
    await Promise.all(this.#ranges.map((locks) => locks.bootstrapEmptyServers()));
  }

  #of(shard: number): Locks | undefined {
    return this.#ranges[this.#rangeOf(shard)];
  }

  async #each(
    shards: readonly number[],
    call: (locks: Locks, own: readonly number[]) => Promise<number[]>,
  ): Promise<number[]> {
    const results = this.#ranges.flatMap((locks, range) => {
      const own = shards.filter((shard) => this.#rangeOf(shard) === range);
      return own.length === 0 ? [] : [call(locks, own)];
    });
    return (await Promise.all(results)).flat();
  }
}
