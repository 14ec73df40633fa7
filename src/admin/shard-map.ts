// The owners of all shards, combined from the roster (each heartbeat) and from events when nodes acquire and hand over
// shards.
//
// The roster may have been read before such an event: for a moment after an event the roster is ignored for its shard.

import type { ClusterEvent, ShardPicture, ShardState } from './protocol.js';
import type { RosterFacts } from './roster-facts.js';

const EVENT_PRECEDENCE_MS = 500;

interface Shard {
  owner: string | null;
  epoch: number;
  state: ShardState;
  /** When an event about it arrived last, and since when it has been moving. */
  eventAtMs: number;
  movingSinceMs: number;
}

export class ShardMap {
  readonly #shards: Shard[];
  readonly #movingMaxMs: number;

  /** A shard that moves for longer than `movingMaxMs` is orphaned: no node acquired it. */
  constructor(shards: number, movingMaxMs: number) {
    this.#movingMaxMs = movingMaxMs;
    this.#shards = Array.from({ length: shards }, () => ({
      owner: null,
      epoch: 0,
      state: 'orphaned' as const,
      eventAtMs: -Infinity,
      movingSinceMs: 0,
    }));
  }

  /** Called when the roster was read. `atMs` is this node's monotonic time, here and below. */
  seen({ members, owners }: RosterFacts, atMs: number): void {
    const alive = new Set(members.map(({ id }) => id));
    this.#shards.forEach((entry, shard) => {
      if (atMs - entry.eventAtMs < EVENT_PRECEDENCE_MS) return;
      const owner = owners[shard] ?? null;
      if (owner !== null && alive.has(owner)) this.#own(entry, owner);
      else if (owner !== null) this.#orphan(entry);
      else this.#release(entry, atMs);
    });
  }

  /** Applies an event about shards. */
  apply(event: ClusterEvent, atMs: number): void {
    if (event.kind !== 'moved' && event.kind !== 'given') return;
    for (const shard of event.shards) {
      const entry = this.#shards[shard];
      if (entry === undefined) continue;
      if (event.kind === 'moved') {
        this.#own(entry, event.to);
        entry.eventAtMs = atMs;
      } else if (entry.owner === event.node && entry.state === 'owned') {
        entry.state = 'moving';
        entry.movingSinceMs = atMs;
        entry.eventAtMs = atMs;
      }
    }
  }

  /** Called when an epoch was read. Epochs never decrease. */
  installed(shard: number, epoch: number): void {
    const entry = this.#shards[shard];
    if (entry !== undefined && epoch > entry.epoch) entry.epoch = epoch;
  }

  /** Returns the shards by number. */
  pictures(): ShardPicture[] {
    return this.#shards.map(({ owner, epoch, state }, shard) => ({ shard, owner, epoch, state }));
  }

  unowned(): number[] {
    return this.#shards.flatMap(({ state }, shard) => (state === 'owned' ? [] : [shard]));
  }

  #own(entry: Shard, owner: string): void {
    entry.owner = owner;
    entry.state = 'owned';
  }

  #orphan(entry: Shard): void {
    entry.owner = null;
    entry.state = 'orphaned';
  }

  /**
   * Handles a shard without an owner in the roster: the owner removed its name itself, since the names of dead nodes
   * stay.
   */
  #release(entry: Shard, atMs: number): void {
    if (entry.owner === null || (entry.state === 'moving' && atMs - entry.movingSinceMs > this.#movingMaxMs)) {
      this.#orphan(entry);
      return;
    }
    if (entry.state === 'owned') entry.movingSinceMs = atMs;
    entry.state = 'moving';
  }
}
