// Decides which payloads an actor uses. An entry that was queued before the actor acquired the shard, or before Redis
// last became available again, may be older than what Redis lost: a settled entry or a cancel of Redis's last second.
// Its payload is not used; its row is read instead.

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

  /**
   * True from when Redis became unavailable until the shard is renewed: the data that Redis has until then may be older
   * than the actor's epoch.
   */
  get isSuspended(): boolean {
    return this.#suspectBeforeMs === Infinity;
  }

  suspend(): void {
    this.#suspectBeforeMs = Infinity;
  }

  /** Called when a new epoch was installed: payloads created from now on are fresh. */
  renew(): void {
    this.#suspectBeforeMs = this.#clock.nowMs();
  }

  /** Returns the message of a claim's payload; null when there is no payload or it is not fresh. */
  messageOf(claim: Claim): Message | null {
    if (claim.payload === '') return null;
    const message = decodePayload(claim.id, this.#shard, claim.payload);
    return message !== null && message.createdAtMs > this.#suspectBeforeMs ? message : null;
  }
}
