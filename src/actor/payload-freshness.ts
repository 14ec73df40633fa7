// Which payloads an actor believes. An entry that was queued before the actor took over, or before Redis was last seen to come back, may be
// older than what Redis forgot: a settled entry or a cancel of Redis's last second. So its payload is not used, and its row is read.

import type { Clock } from '../domain/clock.js';
import type { Message } from '../domain/message.js';
import { decodePayload } from '../redis/payload.js';
import type { Claim } from '../redis/shard-queue.js';

export class PayloadFreshness {
  readonly #shard: number;
  readonly #clock: Clock;
  #suspectBeforeMs: number;

  constructor(shard: number, clock: Clock) {
    this.#shard = shard;
    this.#clock = clock;
    this.#suspectBeforeMs = clock.nowMs();
  }

  /** True from when Redis became unavailable until the shard is renewed: what Redis has by then may be older than the actor's epoch. */
  get isSuspended(): boolean {
    return this.#suspectBeforeMs === Infinity;
  }

  suspend(): void {
    this.#suspectBeforeMs = Infinity;
  }

  /** A new epoch was installed: what is made from now on is believed. */
  renew(): void {
    this.#suspectBeforeMs = this.#clock.nowMs();
  }

  /** The message of a claim's payload; null when there is none, or none to be believed. */
  messageOf(claim: Claim): Message | null {
    if (claim.payload === '') return null;
    const message = decodePayload(claim.id, this.#shard, claim.payload);
    return message !== null && message.createdAtMs > this.#suspectBeforeMs ? message : null;
  }
}
