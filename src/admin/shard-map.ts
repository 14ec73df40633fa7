// Who owns which shard, put together from the roster (each heartbeat) and from what nodes say at the moment they give and take.
//
// The roster's answer may have been on its way when a node said that it took a shard: for a moment after such a word it is not believed
// about that shard.

import type { ClusterEvent, ShardPicture, ShardState } from './protocol.js';
import type { RosterFacts } from './roster-facts.js';

const BELIEVED_MS = 500;

interface Place {
  owner: string | null;
  epoch: number;
  state: ShardState;
  /** When a node spoke of it last, and since when it has been moving. */
  toldAtMs: number;
  movingSinceMs: number;
}

export class ShardMap {
  readonly #places: Place[];
  readonly #movingMaxMs: number;

  /** A shard that moves for longer than `movingMaxMs` is orphaned: whoever was to take it did not. */
  constructor(shards: number, movingMaxMs: number) {
    this.#movingMaxMs = movingMaxMs;
    this.#places = Array.from({ length: shards }, () => ({
      owner: null,
      epoch: 0,
      state: 'orphaned' as const,
      toldAtMs: -Infinity,
      movingSinceMs: 0,
    }));
  }

  /** The roster was read. `atMs` is this node's monotonic time, here and below. */
  seen({ members, owners }: RosterFacts, atMs: number): void {
    const alive = new Set(members.map(({ id }) => id));
    this.#places.forEach((place, shard) => {
      if (atMs - place.toldAtMs < BELIEVED_MS) return;
      const owner = owners[shard] ?? null;
      if (owner !== null && alive.has(owner)) this.#own(place, owner);
      else if (owner !== null) this.#orphan(place);
      else this.#release(place, atMs);
    });
  }

  /** A node spoke of its shards. */
  told(event: ClusterEvent, atMs: number): void {
    if (event.kind !== 'moved' && event.kind !== 'given') return;
    for (const shard of event.shards) {
      const place = this.#places[shard];
      if (place === undefined) continue;
      if (event.kind === 'moved') {
        this.#own(place, event.to);
        place.toldAtMs = atMs;
      } else if (place.owner === event.node && place.state === 'owned') {
        place.state = 'moving';
        place.movingSinceMs = atMs;
        place.toldAtMs = atMs;
      }
    }
  }

  /** An epoch was read. They never go back. */
  installed(shard: number, epoch: number): void {
    const place = this.#places[shard];
    if (place !== undefined && epoch > place.epoch) place.epoch = epoch;
  }

  /** By number. */
  pictures(): ShardPicture[] {
    return this.#places.map(({ owner, epoch, state }, shard) => ({ shard, owner, epoch, state }));
  }

  unowned(): number[] {
    return this.#places.flatMap(({ state }, shard) => (state === 'owned' ? [] : [shard]));
  }

  #own(place: Place, owner: string): void {
    place.owner = owner;
    place.state = 'owned';
  }

  #orphan(place: Place): void {
    place.owner = null;
    place.state = 'orphaned';
  }

  /** The roster names no owner: whoever it was took its name off, for those who die leave theirs there. */
  #release(place: Place, atMs: number): void {
    if (place.owner === null || (place.state === 'moving' && atMs - place.movingSinceMs > this.#movingMaxMs)) {
      this.#orphan(place);
      return;
    }
    if (place.state === 'owned') place.movingSinceMs = atMs;
    place.state = 'moving';
  }
}
